import type { PopOutcome } from '../../../../lambdas/engine/queues.ts'
import type { Operation } from '../actors/callers/operation.ts'
import type { World } from '../harness/world.ts'
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

/** Ways to use a verb that the record does not show. */
export function countOperationPaths(
  { statistics }: World,
  { command, outcome, effects }: Operation,
): void {
  if (outcome?.kind !== 'success') return
  const count = (path: string): void => statistics.count(`path ${path}`)
  switch (command.verb) {
    case 'push':
      if (command.request.idempotencyKey !== undefined && effects.appended === 0) {
        count('repeated push by key')
      }
      return
    case 'pop': {
      const { kind } = outcome.value as PopOutcome
      if (effects.takes.length > 0 && effects.settledByLock.size > 0) count('combined acknowledge')
      if (effects.takes.length === 0 && kind === 'items') count('repeated pop by key')
      return
    }
    case 'acknowledge':
      if (command.request.ids !== undefined && effects.settledByLock.size > 0) {
        count('part acknowledged')
      }
      return
    case 'release':
      if (command.request.ids !== undefined && effects.releasedByLock.size > 0) {
        count('partly released')
      }
      return
    case 'extend':
      if (effects.extended.size > 0) count('extension')
      return
    case 'cancel':
      if (effects.takenOut.size > 0) count('cancelled')
      return
    case 'move':
      if (effects.takenOut.size > 0) count('moved')
      return
    case 'purge':
      if (effects.takenOut.size > 0) count('purged by id')
      if (effects.purged > 0) count('purge')
      return
    case 'redrive':
      if (effects.takenOut.size > 0) count('redriven by id')
      if (effects.redriven > 0) count('redriven')
      return
    default:
  }
}
