import { fork } from 'node:child_process'
import { join } from 'node:path'
import type { Bench, Scenario } from '../bench.ts'
import { deepItems, deepQueue } from '../deep-queue.ts'
import type { DrainReport, DrainRequest } from '../drain-child.ts'
import { atLeast, atMost, rowsOf } from '../rows.ts'

const MEGABYTE = 1024 * 1024
/** Less than any function is deployed with: a drain must not need more. */
const HEAP_MEGABYTES = 256
/**
 * The heap of a function of this size, in the shares that Lambda's Node has been started with. On
 * a machine of 24 GB V8 lets its young generation alone grow by 100 MB of garbage, whatever lives.
 */
const likeLambda = [
  `--max-semi-space-size=${Math.floor(HEAP_MEGABYTES * 0.05)}`,
  `--max-old-space-size=${Math.floor(HEAP_MEGABYTES * 0.9)}`,
]

export const memory: Scenario = {
  name: 'memory',
  title: 'draining 1,000,000 items',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const expected = deepItems(bench)
    const startMs = performance.now()
    const { items, samples, heapGrowth } = await drain(bench, {
      dynamodbEndpoint: bench.embedded.dynamodbEndpoint,
      s3Endpoint: bench.embedded.s3Endpoint,
      queue: await deepQueue(bench),
      items: expected,
    })
    const [first = 0] = samples
    const growth = (Math.max(...samples) - first) / MEGABYTE
    return [
      bar('resident memory grows by, MiB', growth, atMost(64)),
      // The depth scenario pushed and popped items too, equally many.
      bar('items that came out', items, atLeast(expected)),
      info('resident after the first pop, MiB', first / MEGABYTE),
      info('live heap grows by, MiB', heapGrowth / MEGABYTE),
      info('items/s, no latency', items / ((performance.now() - startMs) / 1000)),
    ]
  },
}

function drain(
  bench: Bench,
  request: DrainRequest,
): Promise<Extract<DrainReport, { kind: 'done' }>> {
  const child = fork(join(import.meta.dirname, '..', 'drain-child.ts'), [JSON.stringify(request)], {
    execArgv: ['--expose-gc', ...likeLambda],
  })
  return new Promise((resolve, reject) => {
    child.on('message', (report: DrainReport) => {
      if (report.kind === 'done') resolve(report)
      else bench.progress(`drained ${report.items} of ${request.items} items`)
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`The draining process ended with ${code}`)))
  })
}
