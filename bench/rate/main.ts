// node bench/rate/main.ts [--quick]: the rate limiter's scenario alone.

import { startBench } from '../bench.ts'
import { textTable } from '../report/table.ts'
import { rateLimits } from './rate-limits.ts'

const bench = await startBench({
  quick: process.argv.includes('--quick'),
  progress: () => {},
  explain: () => {},
})
try {
  const rows = await rateLimits.run(bench)
  console.log(textTable(rows))
  process.exitCode = rows.some(({ pass }) => pass === false) ? 1 : 0
} finally {
  await bench.embedded.stop()
}
