import { present } from '../../../foundation/shared/present.ts'
import { PUSH_BYTES_MAX } from '../../core/limits.ts'
import {
  forOneWriteOf,
  lockWith,
  type NamedItem,
  stretchesOfNamed,
  takeOut,
} from '../../core/named.ts'
import { isDue } from '../../core/scheduled.ts'
import type { MoveRequest, MoveResult } from '../../verbs.ts'
import { eachById, gapsOf } from '../attempts/by-id.ts'
import { act, again, answer, asStored, lost } from '../attempts/decision.ts'
import { type Engine, readRecord } from '../attempts/engine.ts'
import type { Moved } from '../later/place-scheduled.ts'
import { appendMoved } from './append-moved.ts'
import { cannotMove } from './move.ts'
import { putOff } from './put-off.ts'

/**
 * Moves waiting items, in the order of pops: to the end of another lane, or to a time still ahead, for which it
 * schedules them. One write to the record, or one transaction, takes them out and puts them there, so each is in one
 * place at any time. One write takes 2.5 MiB and items of 40 lanes; more need another write.
 */
export async function moveWaiting(
  engine: Engine,
  queue: string,
  request: MoveRequest,
): Promise<MoveResult[]> {
  const { ids, priority, queue: to = queue, deliverAtMs: dueMs } = request
  const isNow = dueMs !== undefined && isDue(Math.ceil(dueMs / 1_000), engine.clock.nowMs())
  const results = await eachById<MoveResult>(engine, queue, ids, (taking) => {
    const { record, view, taken } = taking
    const { nowMs } = view
    const isThen = (item: NamedItem): boolean =>
      // An item that waits for its retry is not available now.
      dueMs === undefined || (isNow && lockWith(record, item) === undefined)
    const isThere = (item: NamedItem): boolean =>
      to === queue && item.priority === (priority ?? item.priority) && isThen(item)
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
      next(texts) {
        const items = chosen.slice(0, texts.length)
        const draft = takeOut(record, stretchesOfNamed(items), nowMs)
        const gaps = gapsOf(engine, record, draft, nowMs)
        if ('instead' in gaps) return gaps.instead
        const setsDry = engine.events && view.losses === 0
        const options = { nowMs, guards: gaps.guards, setsDry }
        const moving = { record, items, texts, draft, options, to, priority }
        return act(async () => {
          const moved = await (dueMs === undefined || isNow
            ? appendMoved(engine, moving)
            : putOff(engine, moving, dueMs)
          ).catch((error: unknown) => {
            throw to === queue ? error : cannotMove('items', queue, to, error)
          })
          if (moved.kind === 'lost') return lost(asStored(moved.current))
          if (moved.kind === 'blocked') return again(asStored(await readRecord(engine, queue)))
          return taken(resultsOf(moved.ids), moved.after)
        })
      },
    }
  })
  return ids.map((id, index) => {
    const result = results[index] ?? 'gone'
    return typeof result === 'string' ? { id, result } : result
  })
}

const resultsOf = (ids: Extract<Moved, { kind: 'moved' }>['ids']) =>
  new Map<string, MoveResult>(
    ids.map(([id, newId]) => [id, { id, result: 'moved', ...present({ newId }) }]),
  )
