// npm run soak: the whole service under load and faults, for as long as one likes.

import { parseArgs } from 'node:util'
import { runSoak } from './run-soak.ts'

const help = `npm run soak -- [options]
  --seconds N   how long the clients go on (60)
  --clients N   how many (64)
  --seed N      what they draw from (the time); timing makes runs differ all the same
  --kill MS     kill a process of the functions about every so many milliseconds (never)`

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    clients: { type: 'string', default: '64' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    kill: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) {
  console.log(help)
} else {
  const seed = Number(values.seed)
  const { violations, counts, statuses, faults, kills, gatewayAnswers } = await runSoak({
    seconds: Number(values.seconds),
    clients: Number(values.clients),
    seed,
    ...(values.kill !== undefined && { killEveryMs: Number(values.kill) }),
    onProgress: (text) => console.log(`… ${text}`),
  })
  const table = (title: string, entries: ReadonlyMap<string, number>): void => {
    console.log(`\n${title}`)
    for (const [name, count] of [...entries].sort())
      console.log(`${String(count).padStart(9)}  ${name}`)
  }
  table('Answers', statuses)
  table('Faults', faults)
  console.log(`\nseed ${seed}; ${kills} kills, ${gatewayAnswers} answers of the gateway for them`)
  console.log(
    `${counts.pushed} items pushed, ${counts.perhaps} perhaps; ${counts.deliveries} deliveries`,
  )
  for (const violation of violations) console.log(`VIOLATED ${violation}`)
  console.log(violations.length === 0 ? 'Nothing was lost, doubled or out of order.' : '')
  process.exitCode = violations.length === 0 ? 0 : 1
}
