// Drains a queue in a separate process, so that we measure the engine's memory and not the benchmark's, and reports
// how much it used on the way. Started with `--expose-gc`.

import { connectEmbedded, type StoreEndpoints } from '../testing/embedded.ts'
import { openStore } from './bench.ts'
import { openQueues } from './fixture.ts'

export type DrainRequest = StoreEndpoints & { readonly queue: string; readonly items: number }
export type DrainReport =
  | { readonly kind: 'progress'; readonly items: number }
  | {
      readonly kind: 'done'
      readonly items: number
      /** Resident bytes on the way. */
      readonly samples: readonly number[]
      /** Bytes alive at the end that were not at the start. */
      readonly heapGrowth: number
    }

const SAMPLES = 20
const PER_POP = 100

const request = JSON.parse(process.argv[2] as string) as DrainRequest
const connections = connectEmbedded(request)
const due = { housekeeping: false }
const store = openStore(connections, {
  latency: 'none',
  onRow(row) {
    if (row.pk === `q#${request.queue}` && row.work !== undefined) due.housekeeping = true
  },
})
const queues = openQueues(store)

/** After a garbage collection, so that it counts memory that is held, not memory that was used. */
function residentBytes(): number {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage.rss()
}

const samples: number[] = []
let heapAtStart = 0
let items = 0
let nextSample = PER_POP
for (;;) {
  const outcome = await queues.pop(request.queue, { count: PER_POP })
  if (outcome.kind !== 'items') break
  items += outcome.items.length
  if (due.housekeeping) {
    due.housekeeping = false
    await queues.housekeep(request.queue)
  }
  if (items < nextSample) continue
  samples.push(residentBytes())
  if (samples.length === 1) heapAtStart = process.memoryUsage().heapUsed
  nextSample += request.items / SAMPLES
  process.send?.({ kind: 'progress', items } satisfies DrainReport)
}
samples.push(residentBytes())
const heapGrowth = process.memoryUsage().heapUsed - heapAtStart
process.send?.({ kind: 'done', items, samples, heapGrowth } satisfies DrainReport)
connections.disconnect()
process.disconnect?.()
