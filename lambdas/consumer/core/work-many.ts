// Works many queues, a few at once. One look shows which of them have items, and each of those gets its turn.
// `rota.ts` says whose turn it is, and `worker.ts` works one queue, as a Lambda's consumer does.

import { unlessOver } from '../../foundation/shared/hold-lock.ts'
import type { Edge } from './edge.ts'
import { GivenUp, type Handler } from './handler.ts'
import type { Look } from './look.ts'
import { LOOK_EVERY_MS, type ManySettings } from './many-options.ts'
import { troublePauseMs } from './pace.ts'
import { mayPass } from './refusal.ts'
import { Rota, type TurnEnd } from './rota.ts'
import { type Counts, noCounts, type Run } from './run.ts'
import type { Stop, Stopping } from './stop.ts'
import type { ManyTrouble } from './trouble.ts'
import { comesBackFirst, work } from './worker.ts'

/** While others wait, a queue gives up its place after this long, which costs one more request a turn. */
const TURN_MS = 1_000

/** A handler this late may never end, and it keeps its place: somebody should know. As long as a lock lives. */
const HANDLER_LATE_MS = 300_000

export type ManyEdge = Omit<Edge, 'report'> & {
  /** One request that shows the state of some of the queues. The next call shows the next ones, round and round. */
  look(): Promise<Look>
  report(trouble: ManyTrouble): void
}

/** Works until the stop, and resolves once it holds no lock. Rejects if the service refuses the list for good. */
export async function workMany(
  settings: ManySettings,
  handler: Handler,
  edge: ManyEdge,
  { stop, graceOver, halt }: Pick<Stopping, 'stop' | 'graceOver' | 'halt'>,
): Promise<Counts> {
  const { clock, random } = edge
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
  let idleRounds = 0
  let hadWork = false
  let dueMs = clock.nowMs()
  try {
    while (!stop.aborted) {
      let endsRound = false
      try {
        const look = await unlessOver(edge.look(), stop)
        rota.seen(look.standings, clock.nowMs())
        endsRound = look.endsRound
        troubles = 0
      } catch (error) {
        if (stop.aborted) break
        // Nobody would start this process again, so go on after an error that may pass.
        if (!mayPass(error)) throw error
        troubles += 1
        edge.report({ kind: 'look', error })
      }
      fillPlaces()
      hadWork ||= turns.size > 0
      let everyMs = LOOK_EVERY_MS
      if (endsRound) {
        idleRounds = hadWork ? 0 : idleRounds + 1
        hadWork = false
        everyMs = Math.min(settings.idleMsMax, LOOK_EVERY_MS * 2 ** idleRounds)
      }
      // Count from look to look, not from an answer to the next look; and do not make up for missed looks.
      dueMs = Math.max(clock.nowMs(), dueMs + everyMs)
      if (troubles > 0) dueMs += troublePauseMs(troubles, random)
      await clock.sleep(Math.max(0, dueMs - clock.nowMs()), stop)
    }
  } finally {
    halt()
    while (turns.size > 0) await Promise.all(turns)
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
    handler: overseen(handler, { edge, stop, graceOver }),
    edge: {
      ...edge,
      report(trouble) {
        if (trouble.kind !== 'handler-late') edge.report({ ...trouble, queue })
      },
    },
    remainingMs: () => Number.POSITIVE_INFINITY,
    timeOver: graceOver,
    longestMs: 0,
    // In doubt, go on: after a stop, or the end of a turn, a lock could be left that nobody knows of.
    mayTakeMore: (inDoubt) =>
      inDoubt ? !graceOver.aborted : !stop.aborted && (clock.nowMs() < endMs || !rota.someoneWaits),
    foundPlenty() {},
    comeBack: (afterMs) => rota.putOff(queue, clock.nowMs() + afterMs),
  }
  try {
    const ending = await work(run, await comesBackFirst(run))
    return { ending, batches: counts.batches, counts }
  } catch (error) {
    edge.report({ kind: 'queue', queue, error })
    return { ending: 'failed', batches: counts.batches, counts }
  }
}

/** Does not begin items that come while the work stops, and does not wait for handlers that outlast the grace. */
const overseen =
  (handler: Handler, { edge, stop, graceOver }: Stop & { readonly edge: ManyEdge }): Handler =>
  async (items, context) => {
    if (stop.aborted) throw new GivenUp()
    const ended = new AbortController()
    void edge.clock.sleep(HANDLER_LATE_MS, ended.signal).then(() => {
      if (ended.signal.aborted) return
      edge.report({ kind: 'handler-late', queue: context.queue, items })
    })
    try {
      return await unlessOver((async () => handler(items, context))(), graceOver, new GivenUp())
    } finally {
      ended.abort()
    }
  }

function add(total: Counts, counts: Counts): void {
  total.batches += counts.batches
  total.acknowledged += counts.acknowledged
  total.released += counts.released
  total.deadLettered += counts.deadLettered
}
