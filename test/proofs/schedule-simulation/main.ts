import { runSeedsOf } from '../seeds-of.ts'
import { runSeed } from './run-seed.ts'

const met = { schedules: 0, occurrences: 0, missedByRule: 0, deaths: 0 }

await runSeedsOf('test/proofs/schedule-simulation/main.ts', async (seed) => {
  const ran = await runSeed(seed)
  for (const name of Object.keys(met) as (keyof typeof met)[]) met[name] += ran.met[name]
  return ran
})
const { schedules, occurrences, missedByRule, deaths } = met
console.log(
  `${occurrences} occurrences of ${schedules} schedules, ${missedByRule} left out by their rules, ${deaths} deaths`,
)
