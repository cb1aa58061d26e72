import type { SimulatedRequest } from '../../../../testing/simulated/simulated-store.ts'
import type { Model } from './model.ts'
import { isBatchScheduled } from './note-scheduled.ts'

/** Notes which items must still be readable after a row or an object was deleted. */
export function noteDeletedRow(model: Model, pk: string, sk: string): void {
  const [kind, queue, ...rest] = pk.split('#') as [string, string, ...string[]]
  if (kind === 's') {
    const [epoch, priority, segment] = rest as [string, string, string]
    noteSegment(model, queue, epoch, Number(priority), Number(segment))
  } else if (kind === 'b') {
    noteBatchPart(model, queue, rest[0] as string, Number(sk))
  }
}

export function noteDeletedObjects(model: Model, { name, input }: SimulatedRequest): void {
  if (name !== 'DeleteObjectsCommand') return
  const { Delete } = input as { Delete: { Objects: readonly { Key: string }[] } }
  for (const { Key } of Delete.Objects) noteObject(model, Key)
}

function noteObject(model: Model, key: string): void {
  const [queue, epoch, priority, segment] = key.split('/') as [string, string, string, string?]
  if (epoch === 'batch') noteBatchPart(model, queue, priority, undefined)
  else noteSegment(model, queue, epoch, Number(priority), Number(segment))
}

function noteSegment(
  model: Model,
  queue: string,
  epoch: string,
  priority: number,
  segment: number,
): void {
  const lane = model.queue(queue).current?.record.lanes.get(priority)
  const log = model.log(queue, epoch, priority)
  if (log === undefined || lane?.epoch !== epoch) return
  model.mustRead(log, segment * lane.segmentSize, (segment + 1) * lane.segmentSize)
}

/** Without a part: all of the batch. */
function noteBatchPart(model: Model, queue: string, batch: string, part: number | undefined): void {
  if (isBatchScheduled(model.queue(queue), batch)) {
    model.violated('every pointer has its object', `scheduled items of ${queue} lie in ${batch}`)
  }
  const appended = model.batch(queue, batch)
  if (appended === undefined) return
  const { log, start, reference } = appended
  const { count, partItems } = reference
  const from = part === undefined ? start : start + part * partItems
  const to = part === undefined ? start + count : Math.min(from + partItems, start + count)
  model.mustRead(log, from, to)
}
