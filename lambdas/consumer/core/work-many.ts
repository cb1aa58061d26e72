// Works many queues, few at once: one look shows which of them have something, and each that has gets its
// turn. `rota.ts` says whose turn it is, and `worker.ts` works one queue, as a Lambda's consumer does.

import type { Edge, Trouble } from './edge.ts'
import { GivenUp, type Handler } from './handler.ts'
import { insist } from './insist.ts'
import { LOOK_EVERY_MS, type ManySettings } from './many-options.ts'
import { troublePauseMs } from './pace.ts'
import { isLockLost, isPassing, refusalIn } from './refusal.ts'
import { Rota, type Standing, type TurnEnd } from './rota.ts'
import { type Counts, noCounts, type Run } from './run.ts'
import type { Stop } from './stop.ts'
import { work } from './worker.ts'

/** While others wait, a queue gives up its place after this long; one request more a turn. */
const TURN_MS = 1_000

export type ManyTrouble =
  | (Trouble & { readonly queue: string })
  /** A queue cannot be worked for now, or the list cannot be read: tried again, less and less often. */
  | { readonly kind: 'queue'; readonly queue: string; readonly error: unknown }
  | { readonly kind: 'look'; readonly error: unknown }

export type ManyEdge = Omit<Edge, 'report'> & {
  /** One request: how some of the queues stand. The next call tells of the next ones, round and round. */
  look(): Promise<readonly Standing[]>
  report(trouble: ManyTrouble): void
}

/** Works until the stop, and resolves once nothing is held. Rejects if the list is refused for good. */
export async function workMany(
  settings: ManySettings,
  handler: Handler,
  edge: ManyEdge,
  { stop: asked, graceOver }: Stop,
): Promise<Counts> {
  const { clock, random } = edge
  const failed = new AbortController()
  const stop = AbortSignal.any([asked, failed.signal])
  const rota = new Rota(settings)
  const total = noCounts()
  const turns = new Set<Promise<void>>()
  const fillPlaces = (): void => {
    while (!stop.aborted && turns.size < settings.queuesAtOnce) {
      const queue = rota.next()
      if (queue === undefined) return
      const turn = takeTurn(queue, { settings, handler, edge, stop, graceOver, rota }).then(
        (ended) => {
          turns.delete(turn)
          add(total, ended.counts)
          rota.ended(queue, ended, clock.nowMs(), random())
          fillPlaces()
        },
      )
      turns.add(turn)
    }
  }
  let troubles = 0
  let idleLooks = 0
  let dueMs = clock.nowMs()
  try {
    while (!stop.aborted) {
      try {
        rota.seen(await edge.look(), clock.nowMs())
        troubles = 0
      } catch (error) {
        // A fault of the service may pass too: nobody is there to start this process again.
        if (!isPassing(error) && refusalIn(error)?.code !== 'INTERNAL') throw error
        troubles += 1
        edge.report({ kind: 'look', error })
      }
      fillPlaces()
      idleLooks = turns.size > 0 ? 0 : idleLooks + 1
      const everyMs = Math.min(settings.idleMsMax, LOOK_EVERY_MS * 2 ** idleLooks)
      // From look to look, not from an answer to the next look; and what was missed is not made up for.
      dueMs = Math.max(clock.nowMs(), dueMs + everyMs)
      if (troubles > 0) dueMs += troublePauseMs(troubles, random)
      await clock.sleep(Math.max(0, dueMs - clock.nowMs()), stop)
    }
  } finally {
    failed.abort()
    while (turns.size > 0) await Promise.all(turns)
    await giveBack(rota, edge, settings.queuesAtOnce)
  }
  return total
}

type TurnOf = Stop & {
  readonly settings: ManySettings
  readonly handler: Handler
  readonly edge: ManyEdge
  readonly rota: Rota
}

/** One queue, until nothing is left to do there or its turn is over. */
async function takeTurn(
  queue: string,
  { settings, handler, edge, stop, graceOver, rota }: TurnOf,
): Promise<TurnEnd & { readonly counts: Counts }> {
  const { clock } = edge
  const counts = noCounts()
  const endMs = clock.nowMs() + TURN_MS
  const run: Run = {
    queue,
    settings,
    counts,
    handler: untilGraceIsOver(handler, { stop, graceOver }),
    edge: {
      ...edge,
      report(trouble) {
        if (trouble.kind !== 'handler-late') edge.report({ ...trouble, queue })
      },
    },
    remainingMs: () => Number.POSITIVE_INFINITY,
    timeOver: graceOver,
    longestMs: 0,
    mayTakeMore: () => !stop.aborted && (clock.nowMs() < endMs || !rota.someoneWaits),
    foundPlenty() {},
    comeBack(afterMs, lockId) {
      rota.putOff(queue, clock.nowMs() + afterMs, lockId, clock.nowMs())
    },
  }
  try {
    const ending = await work(run, rota.hasFailed(queue))
    return { ending, batches: counts.batches, counts }
  } catch (error) {
    edge.report({ kind: 'queue', queue, error })
    return { ending: 'failed', batches: counts.batches, counts }
  }
}

/** What comes while the work stops is not begun, and what outlasts the grace is not waited for. */
const untilGraceIsOver =
  (handler: Handler, { stop, graceOver }: Stop): Handler =>
  async (items, context) => {
    if (stop.aborted) throw new GivenUp()
    let giveUp = () => {}
    const isOver = new Promise<never>((_, reject) => {
      giveUp = () => reject(new GivenUp())
      graceOver.addEventListener('abort', giveUp)
    })
    try {
      return await Promise.race([handler(items, context), isOver])
    } finally {
      graceOver.removeEventListener('abort', giveUp)
    }
  }

/** What failed waits in locks for its time to come again. Nobody waits any more: others may try. */
async function giveBack(rota: Rota, edge: ManyEdge, atOnce: number): Promise<void> {
  const kept = rota.kept(edge.clock.nowMs())
  for (let at = 0; at < kept.length; at += atOnce) {
    const some = kept.slice(at, at + atOnce)
    await Promise.all(
      some.map(async ([queue, lockId]) => {
        try {
          await insist(edge, () => edge.queues.release(queue, { lockId }))
        } catch (error) {
          // It ends by itself then.
          if (!isLockLost(error)) edge.report({ kind: 'queue', queue, error })
        }
      }),
    )
  }
}

function add(total: Counts, counts: Counts): void {
  total.batches += counts.batches
  total.acknowledged += counts.acknowledged
  total.released += counts.released
  total.deadLettered += counts.deadLettered
}
