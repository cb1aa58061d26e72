import { QueueError } from '../../../foundation/errors.ts'
import { deadLetterQueueOf } from '../../../foundation/queue-id.ts'
import { randomText } from '../../../foundation/random-text.ts'
import { encodeItem } from '../../core/entry.ts'
import type { FencedChange } from '../../core/fence.ts'
import { LANES_PER_APPEND } from '../../core/limits.ts'
import type { PushItem } from '../../core/push-request.ts'
import { appliedAt, isApplied, type Sequence } from '../../core/sequence.ts'
import { attempts } from '../attempts/attempts.ts'
import type { CommittedBeside } from '../attempts/commit.ts'
import { act, again, answer, asStored, done, look, lost } from '../attempts/decision.ts'
import { changeOf, type Engine, readRecord } from '../attempts/engine.ts'
import { firstConfiguration } from '../attempts/patterns.ts'
import { makeEmpty } from '../lanes/lanes.ts'
import { moveLanesBeside } from './move.ts'

const ATTEMPTS_MAX = 24

/**
 * Puts the items of an inbox message into the dead letters, and in the same transaction notes in the queue's own
 * record that the queue has got as far as this message. So it happens once, however often the message comes, and
 * whatever the queue's room, limit and settings.
 */
export function buryMessage(
  engine: Engine,
  queue: string,
  sequence: Sequence,
  items: readonly PushItem[],
  reason: string,
): Promise<void> {
  const course = { from: 'memory-or-store', attemptsMax: ATTEMPTS_MAX, holdsFrom: 4 } as const
  return attempts<void>(engine, queue, course, ({ record, isCurrent, nowMs }) => {
    if (record === undefined) {
      if (!isCurrent) return look
      return act(async () => makeEmpty(engine, queue, await firstConfiguration(engine, queue)))
    }
    if (isApplied(sequence, record)) return answer(undefined)
    const draft = { ...record, sequence: appliedAt(sequence, nowMs) }
    const change = changeOf(engine, record, draft, { nowMs })
    return act(async () => {
      const lanes = deadLanes(engine, items, reason, nowMs)
      const committed = await moveWhereverThereIsALane(engine, change, lanes)
      if (committed.kind === 'committed') return done(undefined)
      if (committed.kind === 'lost') return lost(asStored(committed.current))
      return again(asStored(await readRecord(engine, queue)))
    })
  })
}

/** The dead-letter queue may have every lane in use. Then all items go to the lane nearest to their best priority. */
async function moveWhereverThereIsALane(
  engine: Engine,
  change: FencedChange,
  lanes: ReadonlyMap<number, readonly string[]>,
): Promise<CommittedBeside> {
  const dead = deadLetterQueueOf(change.before.queue)
  try {
    return await moveLanesBeside(engine, change, dead, lanes)
  } catch (error) {
    if (!(error instanceof QueueError) || error.code !== 'TOO_MANY_PRIORITIES') throw error
    const inUse = [...((await readRecord(engine, dead))?.lanes.keys() ?? [])]
    const best = Math.min(...lanes.keys())
    const [nearest] = inUse.sort((a, b) => Math.abs(a - best) - Math.abs(b - best))
    if (nearest === undefined) throw error
    return moveLanesBeside(engine, change, dead, new Map([[nearest, [...lanes.values()].flat()]]))
  }
}

/** One lane for each priority, or all in the best one if there are more than a transaction can name. */
function deadLanes(
  { random }: Engine,
  items: readonly PushItem[],
  reason: string,
  nowMs: number,
): Map<number, string[]> {
  const priorities = new Set(items.map(({ priority = 0 }) => priority))
  const only = priorities.size > LANES_PER_APPEND ? Math.min(...priorities) : undefined
  const moved = { reason, death: { atMs: nowMs, deliveries: 0 } }
  const lanes = new Map<number, string[]>()
  for (const { text, priority = 0 } of items) {
    const entry = encodeItem({ text, pushedAtMs: nowMs, moved }, randomText(random, 4))
    const lane = only ?? priority
    const entries = lanes.get(lane)
    if (entries === undefined) lanes.set(lane, [entry])
    else entries.push(entry)
  }
  return lanes
}
