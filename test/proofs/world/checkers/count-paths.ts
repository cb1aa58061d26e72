import type { Model, QueueModel } from './model.ts'
import type { Snapshot } from './snapshot.ts'

/** Counts the interesting things that a write did, for the proof of coverage. */
export function countPaths(
  { world }: Model,
  queueModel: QueueModel,
  before: Snapshot | undefined,
  after: Snapshot | undefined,
): void {
  const { statistics } = world
  const count = (name: string): void => statistics.count(`path ${name}`)
  if (after === undefined) {
    count('record forgotten')
    return
  }
  if (before === undefined) {
    count(queueModel.births > 0 ? 'record made again' : 'record made')
    return
  }
  if (after.record.appends > before.record.appends) {
    if (after.record.version === before.record.version) count('append')
    else
      count(
        world.applying?.operation?.command.verb === 'move'
          ? 'moved within'
          : 'seal before an append',
      )
  }
  statistics.max('max locks', after.record.locks.size)
  statistics.max('max lanes', after.record.lanes.size)
  if (after.record.locks.size > before.record.locks.size) {
    count(after.record.version === before.record.version ? 'claim' : 'lock under the fence')
  }
  for (const [priority, lane] of after.record.lanes) {
    const old = before.record.lanes.get(priority)
    if (old === lane || before.stored.L[priority] === after.stored.L[priority]) continue
    if (old === undefined) {
      count('lane made')
      continue
    }
    if (lane.epoch !== old.epoch) count('lane made again at once')
    if (lane.sealed > old.sealed && lane.sealed > lane.head) count('seal')
    if (lane.offloaded.to > old.offloaded.to) count('offload')
    if (lane.recalled > old.recalled) count('recall')
    if (lane.trimmed > old.trimmed) count('trim')
    if (lane.holes.length > old.holes.length) count('hole')
    if ((lane.holes.at(-1)?.to ?? 0) > lane.frontier) count('hole ahead of the frontier')
    if (lane.dead.length > old.dead.length) count('buried')
    if (lane.dead.length < old.dead.length) count('dead moved away')
    if (lane.deliveries.length > old.deliveries.length) count('deliveries counted')
  }
  for (const priority of before.record.lanes.keys()) {
    if (!after.record.lanes.has(priority)) count('lane forgotten')
  }
}
