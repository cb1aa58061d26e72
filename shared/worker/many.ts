// Works many queues, a few at once. One look shows which of them have items, and each of those gets its turn, in which
// `worker.ts` works it, as a Lambda's consumer does.
//
//   idle ──has something free──▶ ready ──first in line──▶ at work ──its turn is over──▶ ready, last in line
//    ▲                                                       └──nothing more to do──▶ idle, or put off
//    └──put off: we do not look at it until some time, because it is locked, failing or at its limit
//
// Failed items wait in the queue itself: the list shows when they are back, or whether other items can be popped
// meanwhile.

import { unlessOver } from '../hold-lock.ts'
import { checkOptions, type Names } from '../options.ts'
import { inShort, mayPass, TROUBLES_MAX, troublePauseMs } from './retries.ts'
import {
  type Counts,
  checkHandler,
  type Edge,
  type Ending,
  type Handler,
  type ManyTrouble,
  noCounts,
  type Run,
} from './run.ts'
import {
  type ConsumeManyOptions,
  checkWhich,
  type List,
  LOOK_EVERY_MS,
  type Look,
  lookerOf,
  type ManySettings,
  manySettingsOf,
  type Standing,
  type Stop,
  type Stopping,
  unlessStopped,
  untilGrace,
  type Which,
} from './which-queues.ts'
import { comesBackFirst, work } from './worker.ts'

const names: Names<ConsumeManyOptions> = {
  queuesAtOnce: 0,
  batchSize: 0,
  lockTtlSeconds: 0,
  maxDeliveries: 0,
  retry: 0,
  competing: 0,
  signal: 0,
  graceMs: 0,
  idleMsMax: 0,
  onError: 0,
}

type ManyPorts = Omit<Edge, 'report'> & { readonly list: List }

/** Works many queues until the signal comes, over HTTP or on the table. */
export async function consumeManyWith(
  { list, ...edge }: ManyPorts,
  which: Which,
  handler: Handler,
  options: ConsumeManyOptions,
): Promise<Omit<Counts, 'batches'>> {
  checkWhich(which)
  checkHandler(handler)
  checkOptions(options, names)
  const settings = manySettingsOf(options)
  const { signal, graceMs, onError = toConsole } = options
  const stopping = untilGrace(signal, graceMs)
  const report = stopping.telling(onError)
  try {
    const look = lookerOf(list, which)
    const { batches: _, ...consumed } = await workMany(
      settings,
      handler,
      { ...edge, look, report },
      stopping,
    )
    return consumed
  } finally {
    stopping.over()
  }
}

function toConsole(trouble: ManyTrouble): void {
  const where = 'queue' in trouble ? ` of queue "${trouble.queue}"` : ''
  const cause = 'error' in trouble ? [inShort(trouble.kind, trouble.error)] : []
  console.error(`PushPop${where}: ${sentences[trouble.kind]}`, ...cause)
}

const sentences: Readonly<Record<ManyTrouble['kind'], string>> = {
  handler: 'a handler failed, and its items come again',
  'handler-late': 'a handler has been at work for five minutes',
  'lock-lost': 'a lock ended before its items were settled, and they are delivered again',
  'answer-late': 'a lock had expired before its answer arrived',
  request: 'a request failed and is tried again',
  queue: 'the work failed and is tried again later',
  look: 'the list of queues could not be read and is tried again',
}

/** While others wait, a queue gives up its place after this long, which costs one more request a turn. */
const TURN_MS = 1_000

/** A handler this late may never end, and it keeps its place: somebody should know. As long as a lock lives. */
const HANDLER_LATE_MS = 300_000

type ManyEdge = Omit<Edge, 'report'> & {
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
    handler: watched(unlessStopped(handler, { stop, graceOver }), edge),
    edge: {
      ...edge,
      report(trouble) {
        if (trouble.kind !== 'handler-late') edge.report({ ...trouble, queue })
      },
    },
    remainingMs: () => Number.POSITIVE_INFINITY,
    hurry: graceOver,
    timeOver: graceOver,
    troublesMax: TROUBLES_MAX,
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

/** Tells of a handler that has been at work for long. */
const watched =
  (handler: Handler, edge: ManyEdge): Handler =>
  async (items, context) => {
    const ended = new AbortController()
    void edge.clock.sleep(HANDLER_LATE_MS, ended.signal).then(() => {
      if (ended.signal.aborted) return
      edge.report({ kind: 'handler-late', queue: context.queue, items })
    })
    try {
      return await handler(items, context)
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

/** How a turn ended: the worker's ending, or an error. `batches`: how often the worker called its handler. */
type TurnEnd = { readonly ending: Ending | 'failed'; readonly batches: number }

type Place = {
  state: 'idle' | 'ready' | 'at work'
  notBeforeMs: number
  /** How many turns in a row found nothing. */
  fruitless: number
}

/** After a turn that found nothing although the list showed items: the list lags, or others are faster. */
const FRUITLESS_FIRST_MS = 250
const FRUITLESS_MS_MAX = 5_000
/** After an error that repeating has not cured. */
const FAILED_FIRST_MS = 1_000
const FAILED_MS_MAX = 60_000
/** We forget what we know of an idle queue after this long. */
const REMEMBERED_MS = 60_000

/** Decides whose turn it is. Time is an argument. */
export class Rota {
  readonly #competing: boolean
  readonly #places = new Map<string, Place>()
  readonly #line: string[] = []

  constructor({ competing }: { readonly competing: boolean }) {
    this.#competing = competing
  }

  get someoneWaits(): boolean {
    return this.#line.length > 0
  }

  /** What a look showed. */
  seen(standings: readonly Standing[], nowMs: number): void {
    for (const [queue, place] of this.#places) {
      const { state, notBeforeMs } = place
      if (state === 'idle' && notBeforeMs + REMEMBERED_MS < nowMs) this.#places.delete(queue)
    }
    for (const standing of standings) {
      if (!this.#hasFree(standing)) continue
      const place = this.#placeOf(standing.queue)
      if (place.state === 'idle' && place.notBeforeMs <= nowMs) this.#queueUp(standing.queue, place)
    }
  }

  /** The next in line, now at work. */
  next(): string | undefined {
    const queue = this.#line.shift()
    if (queue !== undefined) this.#placeOf(queue).state = 'at work'
    return queue
  }

  /** We do not look at it before then. */
  putOff(queue: string, untilMs: number): void {
    this.#placeOf(queue).notBeforeMs = untilMs
  }

  /** `random` in [0, 1): queues that failed together must not come back together. */
  ended(queue: string, { ending, batches }: TurnEnd, nowMs: number, random: number): void {
    const place = this.#placeOf(queue)
    place.state = 'idle'
    if (ending === 'continued') {
      this.#queueUp(queue, place)
      return
    }
    if (batches > 0 && ending !== 'failed') {
      place.fruitless = 0
      return
    }
    const [firstMs, mostMs] =
      ending === 'failed'
        ? [FAILED_FIRST_MS, FAILED_MS_MAX]
        : [FRUITLESS_FIRST_MS, FRUITLESS_MS_MAX]
    const pauseMs = Math.min(mostMs, firstMs * 2 ** place.fruitless) * (0.75 + random / 4)
    place.fruitless += 1
    place.notBeforeMs = Math.max(place.notBeforeMs, nowMs + pauseMs)
  }

  #hasFree({ count = 0, lockedCount = 0, waitingCount = 0, isBlocked }: Standing): boolean {
    const free = count - lockedCount - waitingCount
    return free > 0 && (this.#competing || (lockedCount === 0 && !isBlocked))
  }

  #queueUp(queue: string, place: Place): void {
    place.state = 'ready'
    this.#line.push(queue)
  }

  #placeOf(queue: string): Place {
    let place = this.#places.get(queue)
    if (place === undefined) {
      place = { state: 'idle', notBeforeMs: 0, fruitless: 0 }
      this.#places.set(queue, place)
    }
    return place
  }
}
