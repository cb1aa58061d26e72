import type { Lane } from '../../../../lambdas/engine/core/record.ts'
import type { Commit } from './snapshot.ts'

/** What the engine does inside a lane, which no crossing of features shows. */
const steps = Object.entries<(lane: Lane, old: Lane) => boolean>({
  seal: (lane, old) => lane.sealed > old.sealed && lane.sealed > lane.head,
  offload: (lane, old) => lane.offloaded.to > old.offloaded.to,
  recall: (lane, old) => lane.recalled > old.recalled,
  trim: (lane, old) => lane.trimmed > old.trimmed,
  hole: (lane, old) => lane.holes.length > old.holes.length,
  'hole ahead of the frontier': (lane) => (lane.holes.at(-1)?.to ?? 0) > lane.frontier,
  buried: (lane, old) => lane.dead.length > old.dead.length,
  'dead moved away': (lane, old) => lane.dead.length < old.dead.length,
  'deliveries counted': (lane, old) => lane.deliveries.length > old.deliveries.length,
})

/** For the proof of coverage. */
export function countSteps({ model, queueModel, before, after }: Commit): void {
  const { statistics } = model.world
  const count = (name: string): void => statistics.count(`path ${name}`)
  if (after === undefined) count('record forgotten')
  else if (before === undefined) count(`record made${queueModel.births > 0 ? ' again' : ''}`)
  if (before === undefined || after === undefined) return
  const isFenced = after.record.version > before.record.version
  if (after.record.appends > before.record.appends)
    count(isFenced ? 'seal before an append' : 'append')
  if (after.record.locks.size > before.record.locks.size) {
    count(isFenced ? 'lock under the fence' : 'claim')
  }
  for (const [priority, lane] of after.record.lanes) {
    const old = before.record.lanes.get(priority)
    if (old === undefined || before.stored.L[priority] === after.stored.L[priority]) continue
    for (const [name, isTaken] of steps) if (isTaken(lane, old)) count(name)
  }
}
