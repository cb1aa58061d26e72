import { isDeadLetterQueue } from '../../../foundation/queue-id.ts'
import { randomText } from '../../../foundation/random-text.ts'
import { present } from '../../../foundation/shared/present.ts'
import { type Append, appendOf, type Placed, tailBytesAllowed } from '../../core/append.ts'
import type { Guards } from '../../core/fence.ts'
import { itemId } from '../../core/keys.ts'
import { INLINE_BYTES_MAX, PUSH_BYTES_MAX } from '../../core/limits.ts'
import { entryFor, withAppended } from '../../core/moving.ts'
import { forOneWriteOf, type NamedItem, stretchesOfNamed, takeOut } from '../../core/named.ts'
import type { QueueRecord } from '../../core/record.ts'
import type { MoveRequest, MoveResult } from '../../verbs.ts'
import { eachById, gapsOf } from '../attempts/by-id.ts'
import { commit } from '../attempts/commit.ts'
import { act, again, answer, lost } from '../attempts/decision.ts'
import { changeOf, type Engine, readRecord, tailLimits } from '../attempts/engine.ts'
import { byReference, discardBatches, discardUnlessOpen } from '../lanes/entries.ts'
import { ensureLane } from '../lanes/lanes.ts'
import { seal, sealAfter } from '../lanes/seal.ts'
import { findMoved } from './find-moved.ts'
import { cannotMove, moveLanesBeside } from './move.ts'
import { timesOfRedriven } from './times-of-redriven.ts'

/** Items that go together in one write. */
type Moving = {
  readonly record: QueueRecord
  /** The record without them. */
  readonly draft: QueueRecord
  readonly options: {
    readonly nowMs: number
    readonly guards: Guards
    readonly setsDry: boolean
  }
  readonly to: string
  /** The lane they all go to; each keeps its own if it is not named. */
  readonly priority: number | undefined
  /** What they become there, by lane. */
  readonly lanes: ReadonlyMap<number, readonly string[]>
}

type Moved =
  | { readonly kind: 'moved'; readonly addition: Append; readonly after: QueueRecord }
  | { readonly kind: 'lost'; readonly current: QueueRecord | undefined }
  /** Something had to be done at the other place, or is in the way there. */
  | { readonly kind: 'blocked' }

/**
 * Moves items that wait to the end of another lane, in the order of pops. They are taken out and appended by one
 * write to the record, or by one transaction of two records: so each is in one place at any time. One write
 * takes 2.5 MiB and items of 40 lanes; what is more takes another.
 */
export async function moveWaiting(
  engine: Engine,
  queue: string,
  request: MoveRequest,
): Promise<MoveResult[]> {
  const { ids, priority, queue: to = queue } = request
  const results = await eachById<MoveResult>(engine, queue, ids, (taking) => {
    const { record, view, taken } = taking
    const { nowMs } = view
    const isThere = (item: NamedItem): boolean =>
      to === queue && item.priority === (priority ?? item.priority)
    const [staying, leaving] = [
      taking.waiting.filter(isThere),
      taking.waiting.filter((item) => !isThere(item)),
    ]
    taking.known(resultsOf(staying.map(({ id }) => [id, id])))
    if (leaving.length === 0) return answer(undefined)
    const chosen = forOneWriteOf(record, leaving)
    return {
      kind: 'read',
      stretches: stretchesOfNamed(chosen),
      bytesMax: PUSH_BYTES_MAX,
      next(read) {
        const items = chosen.slice(0, read.length)
        const draft = takeOut(record, stretchesOfNamed(items), nowMs)
        const gaps = gapsOf(engine, record, draft, nowMs)
        if ('instead' in gaps) return gaps.instead
        const setsDry = engine.events && view.losses === 0
        const options = { nowMs, guards: gaps.guards, setsDry }
        return act(async () => {
          const lanes = await lanesOf(engine, record, items, read, { to, priority, nowMs })
          const moving = { record, draft, options, to, priority, lanes }
          const moved = await (to === queue ? moveWithin : moveAcross)(engine, moving)
          if (moved.kind === 'lost') return lost(moved.current)
          if (moved.kind === 'blocked') return again(await readRecord(engine, queue))
          return taken(resultsOf(await newIds(engine, moving, items, moved)), moved.after)
        })
      },
    }
  })
  return ids.map((id, index) => {
    const result = results[index] ?? 'gone'
    return typeof result === 'string' ? { id, result } : result
  })
}

const resultsOf = (ids: readonly (readonly [string, string | undefined])[]) =>
  new Map<string, MoveResult>(
    ids.map(([id, newId]) => [id, { id, result: 'moved', ...present({ newId }) }]),
  )

/** What the items become at the other place, by lane. */
async function lanesOf(
  engine: Engine,
  record: QueueRecord,
  items: readonly NamedItem[],
  read: readonly string[],
  { to, priority, nowMs }: { to: string; priority: number | undefined; nowMs: number },
): Promise<Map<number, string[]>> {
  const comesBack = isDeadLetterQueue(record.queue) && !isDeadLetterQueue(to)
  const redriven = comesBack ? await timesOfRedriven(engine, to) : {}
  const lanes = new Map<number, string[]>()
  for (const [index, item] of items.entries()) {
    const tag = randomText(engine.random, 4)
    const entry = entryFor(to, record, item, read[index] as string, { nowMs, tag, redriven })
    const lane = priority ?? item.priority
    const entries = lanes.get(lane)
    if (entries === undefined) lanes.set(lane, [entry])
    else entries.push(entry)
  }
  return lanes
}

/** To another lane of the queue: one fenced write that takes the items out and appends them. */
async function moveWithin(engine: Engine, moving: Moving): Promise<Moved> {
  const { record, draft, options, to: queue, lanes } = moving
  for (const priority of lanes.keys()) {
    if (record.lanes.has(priority)) continue
    await ensureLane(engine, queue, priority)
    return { kind: 'blocked' }
  }
  const inline = appendOf(lanes)
  const addition =
    inline.bytes <= INLINE_BYTES_MAX ? inline : await byReference(engine, queue, lanes)
  const tailBytesMax = tailBytesAllowed(addition, tailLimits(engine))
  if (record.tailBytes > tailBytesMax) {
    await discardBatches(engine, queue, addition)
    await seal(engine, record)
    return { kind: 'blocked' }
  }
  const guards = { ...options.guards, tailBytesMax }
  const change = changeOf(engine, record, withAppended(draft, addition), { ...options, guards })
  const committed = await commit(engine, change).catch(async (error: unknown) => {
    await discardUnlessOpen(engine, queue, addition, error)
    throw error
  })
  if (committed.kind === 'lost') {
    await discardBatches(engine, queue, addition)
    return committed
  }
  await sealAfter(engine, committed.record, addition.bytes)
  return { kind: 'moved', addition, after: committed.record }
}

/** To another queue: a transaction of two records. Its capacity counts, because the items are new there. */
async function moveAcross(engine: Engine, moving: Moving): Promise<Moved> {
  const { record, draft, options, to, lanes } = moving
  const change = changeOf(engine, record, draft, options)
  const committed = await moveLanesBeside(engine, change, to, lanes, {
    capacityCounts: true,
  }).catch((error: unknown) => {
    throw cannotMove('items', record.queue, to, error)
  })
  if (committed.kind !== 'committed') return committed
  return { kind: 'moved', addition: committed.addition, after: committed.record ?? change.after }
}

/** The move stands, whether or not we can find the new places of the items. */
async function newIds(
  engine: Engine,
  { to, priority, lanes, record }: Moving,
  items: readonly NamedItem[],
  { addition, after }: Extract<Moved, { kind: 'moved' }>,
): Promise<[string, string | undefined][]> {
  const find = async () =>
    findMoved(engine, addition, lanes, to === record.queue ? after : await readRecord(engine, to))
  const placed = await find().catch((error: unknown) => {
    engine.onBackgroundError(error, { queue: to, step: 'find-moved' })
    return new Map<number, never>() as Placed
  })
  const used = new Map<number, number>()
  return items.map((item) => {
    const lane = priority ?? item.priority
    const index = used.get(lane) ?? 0
    used.set(lane, index + 1)
    const at = placed.get(lane)
    return [item.id, at && itemId({ epoch: at.epoch, priority: lane, sequence: at.start + index })]
  })
}
