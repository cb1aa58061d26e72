// Wake: one run at a time stays awake while prompt timers end soon, and comes for each within a second or so.
//
// A row says which run is awake (`h`), since when (`s`), until when that counts unless it renews its lease (`e`), and
// until when it must stay (`u`). If two runs ask at once, one gets the row and the other leaves a note in `u`. A run
// that ends clears the row on the condition that the note is as it saw it. So either it reads the note, or the note
// comes too late: then the writer of the note finds no run awake, and stays awake itself.

import type { Row } from '../../aws/dynamo.ts'
import { Expression } from '../../aws/table.ts'
import { randomText } from '../../shared/system.ts'
import { allShards, awakeKey } from '../core/keys.ts'
import { isPatient, NEAR_MS } from '../core/record.ts'
import type { Engine } from '../driver/engine.ts'
import { placeOf, type Timer } from './due-queues.ts'
import { endLocks, nothingYet, type Report, type SweepReport } from './end-locks.ts'

export type WakeRequest = {
  /** Something comes due at this time, whether or not the index of timers shows it yet. */
  readonly untilMs?: number | undefined
  /** We know that the run that was awake has ended, so this one does not wait for the end of its lease. */
  readonly takesOver?: boolean | undefined
  /** When the caller has to end. */
  readonly deadlineMs: number
}

export type WakeReport = Pick<
  SweepReport,
  'queues' | 'itemsReturned' | 'occurrencesPushed' | 'lagMs'
> & {
  /** Another run is awake, and has our note. */
  readonly left: boolean
  readonly looks: number
  readonly failed: number
}

export interface WakingVerbs {
  /**
   * Stays awake and ends locks to the second for as long as some end soon. Only one caller at a time does so; others
   * leave their requests to that one.
   */
  wake(request: WakeRequest): Promise<WakeReport>
}

/**
 * It knows when the next timer ends and comes just then. But a timer that is set anew may end before that,
 * and the index tells of it at the next look.
 */
const LOOK_EVERY_MS = 1_000
/** A timer that has just ended may show up again, because the index is behind. */
const PAUSE_MS_MIN = 50
/** How far the index may be behind a timer that a caller has noted. After that the minute's sweep comes for it. */
const INDEX_BEHIND_MS = 3_000

/**
 * Comes for prompt timers within a second or so, as long as one ends within the next minute and a half. It ends
 * locks, runs schedules and joins due items, and nothing else: it leaves the rest to the stream or the sweep.
 */
export async function wake(engine: Engine, request: WakeRequest): Promise<WakeReport> {
  const { clock } = engine
  const total = { queues: 0, itemsReturned: 0, occurrencesPushed: 0, lagMs: 0, looks: 0, failed: 0 }
  let stayMs = stayUntil(request.untilMs, clock.nowMs())
  const watch = await Watch.begin(engine, stayMs, request.takesOver)
  if (watch === undefined) return { ...total, left: true }
  const { deadlineMs } = request
  const isWanted = notAgainAtOnce(engine)
  while (await watch.goOn()) {
    const report = nothingYet()
    const bounds = { deadlineMs, queuesMax: Number.POSITIVE_INFINITY, shards: allShards, isWanted }
    await endLocks(engine, report, bounds)
    add(total, report)
    throwIfBlind(report)
    const nowMs = clock.nowMs()
    const { nextDueMs, more } = report
    // The visit itself reports this, because the index may not yet show the timer that it has set.
    if (nextDueMs !== undefined) stayMs = Math.max(stayMs, nextDueMs + INDEX_BEHIND_MS)
    const isOver = nextDueMs === undefined && !more && nowMs >= Math.max(stayMs, watch.stayMs)
    const mustGo = nowMs >= deadlineMs
    if ((isOver || mustGo) && ((await watch.goHome()) || mustGo)) break
    const untilNextMs = (nextDueMs ?? Number.POSITIVE_INFINITY) - nowMs
    await clock.sleep(Math.min(LOOK_EVERY_MS, Math.max(PAUSE_MS_MIN, untilNextMs)))
  }
  return { ...total, left: false }
}

/** Bounds the stay, so that neither the notes of others nor their clocks can keep us awake for long. */
const stayUntil = (untilMs: number | undefined, nowMs: number): number =>
  Math.min(Math.max(untilMs ?? nowMs, nowMs), nowMs + NEAR_MS) + INDEX_BEHIND_MS

/**
 * We do not visit a queue whose timer stays due at each look: it is in trouble, or the index is behind. Mostly another
 * write was in the way and has passed. So we come again after a second, and then each time after twice as long.
 */
const VISIT_AGAIN_MS = { first: 1_000, most: 5_000 }
const VISITS_REMEMBERED = 10_000

type Visit = { readonly dueMs: number; readonly atMs: number; readonly pauseMs: number }

/** Chooses the prompt ones of the due timers, and each only now and then while it stays due. */
function notAgainAtOnce({ clock }: Engine): (due: Timer) => boolean {
  const visited = new Map<string, Visit>()
  return (timer) => {
    const { dueMs } = timer
    if (isPatient(dueMs)) return false
    const atMs = clock.nowMs()
    const place = placeOf(timer)
    const seen = visited.get(place)
    const last = seen?.dueMs === dueMs ? seen : undefined
    if (last !== undefined && atMs < last.atMs + last.pauseMs) return false
    const pauseMs = last ? Math.min(2 * last.pauseMs, VISIT_AGAIN_MS.most) : VISIT_AGAIN_MS.first
    if (visited.size >= VISITS_REMEMBERED) visited.clear()
    visited.set(place, { dueMs, atMs, pauseMs })
    return true
  }
}

/** A run that can read nothing is of no use, so it fails, which raises an alarm; the minute's sweep tries again. */
function throwIfBlind({ failed }: Report): void {
  const unread = failed.filter(({ shard }) => shard !== undefined)
  if (unread.length === allShards.length) throw unread[0]?.error
}

type Total = { -readonly [K in keyof Omit<WakeReport, 'left'>]: number }

function add(total: Total, report: Report): void {
  total.looks += 1
  total.queues += report.queues
  total.itemsReturned += report.itemsReturned
  total.occurrencesPushed += report.occurrencesPushed
  total.failed += report.failed.length
  total.lagMs = Math.max(total.lagMs, report.lagMs)
}

/** A run renews its lease every ten seconds: two renewals may get lost, or a request may hang. */
export const LEASE_MS = 30_000
export const RENEW_MS = 10_000
/**
 * A run that is called later than this takes over. The minute's sweep calls while something is near, so a run hands
 * over long before its time is up, without a gap, and reports its work every few minutes.
 */
const TERM_MS = 120_000
/** Meanwhile another run may take the row, or answers may get lost. */
const ATTEMPTS_MAX = 10
const HOLDER_CHARACTERS = 8
/** No caller notes a time further away than half of this: a note beyond it comes from a wrong clock. */
const STAY_MS_MAX = 2 * NEAR_MS

type Place = Pick<Engine, 'dynamo' | 'clock' | 'random'>

type Awake = { readonly holder: string; readonly stayMs: number | undefined }

/** One run of Wake stays awake; a run that is called meanwhile leaves its time as a note, and ends. */
export class Watch {
  readonly #place: Place
  #awake: Awake
  #renewAtMs: number

  private constructor(place: Place, awake: Awake) {
    this.#place = place
    this.#awake = awake
    this.#renewAtMs = place.clock.nowMs() + RENEW_MS
  }

  /** `undefined` if another run is awake and has our note. `takesOver`: we know that the other run has ended. */
  static async begin(place: Place, stayMs: number, takesOver = false): Promise<Watch | undefined> {
    const { dynamo, clock, random } = place
    const termMs = takesOver ? 0 : TERM_MS
    const me = randomText(random, HOLDER_CHARACTERS)
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const taken = await dynamo.update(awakeKey, takeUpdate(me, clock.nowMs(), termMs))
      if (taken.kind === 'unknown') continue
      const awake = awakeIn(taken.row)
      if (awake === undefined) continue
      if (taken.kind === 'done') return new Watch(place, awake)
      if (await isTold(place, awake, stayMs)) return undefined
    }
    throw new Error(
      'Cannot tell which run is awake: the row changed, or its answers were lost, too often',
    )
  }

  /** This run must stay at least until then. */
  get stayMs(): number {
    const { stayMs = Number.NEGATIVE_INFINITY } = this.#awake
    return stayMs <= this.#place.clock.nowMs() + STAY_MS_MAX ? stayMs : Number.NEGATIVE_INFINITY
  }

  /** Renews the lease; returns whether this run is still the one that is awake. */
  async goOn(): Promise<boolean> {
    const nowMs = this.#place.clock.nowMs()
    if (nowMs < this.#renewAtMs) return true
    const { dynamo } = this.#place
    const renewed = await dynamo.update(awakeKey, renewUpdate(this.#awake.holder, nowMs))
    // Lost answers are harmless: we ask again next time.
    if (renewed.kind === 'unknown') return true
    if (renewed.kind === 'failed') return false
    this.#awake = awakeIn(renewed.row) ?? this.#awake
    this.#renewAtMs = nowMs + RENEW_MS
    return true
  }

  /** Ends this run's turn, unless another run has left a note meanwhile. */
  async goHome(): Promise<boolean> {
    const gone = await this.#place.dynamo.update(awakeKey, homeUpdate(this.#awake))
    if (gone.kind === 'done') return true
    // We ask again, as the next look does.
    if (gone.kind === 'unknown') return false
    const awake = awakeIn(gone.row)
    if (awake?.holder !== this.#awake.holder) return true
    this.#awake = awake
    return false
  }
}

async function isTold({ dynamo }: Place, { holder }: Awake, stayMs: number): Promise<boolean> {
  const told = await dynamo.update(awakeKey, noteUpdate(holder, stayMs))
  if (told.kind === 'done') return true
  if (told.kind === 'unknown') return false
  const awake = awakeIn(told.row)
  return awake?.holder === holder && awake.stayMs !== undefined && awake.stayMs >= stayMs
}

const awakeIn = (row: Row | undefined): Awake | undefined =>
  row?.h === undefined
    ? undefined
    : { holder: row.h as string, stayMs: row.u as number | undefined }

type Update = ReturnType<Expression['build']>

/** Succeeds if no run is awake, or the one that is has been so for its term. */
function takeUpdate(me: string, nowMs: number, termMs: number): Update {
  const update = new Expression()
  const [mine, now] = [update.value(me), update.value(nowMs)]
  // If the lease ends later than any lease can, it comes from a wrong clock.
  const lives = `e BETWEEN ${now} AND ${update.value(nowMs + 2 * LEASE_MS)}`
  const isOld = `s<=${update.value(nowMs - termMs)}`
  update.condition(`(attribute_not_exists(h) OR h=${mine} OR NOT ${lives} OR ${isOld})`)
  update.sets.push(`h=${mine}`, `s=${now}`)
  update.set('e', nowMs + LEASE_MS)
  return update.build()
}

function renewUpdate(me: string, nowMs: number): Update {
  const update = new Expression()
  update.condition(`h=${update.value(me)}`)
  update.set('e', nowMs + LEASE_MS)
  return update.build()
}

/** A note for the run that holds the row: stay until then. */
function noteUpdate(holder: string, stayMs: number): Update {
  const update = new Expression()
  const stay = update.value(stayMs)
  update.condition(`h=${update.value(holder)}`)
  update.condition(`(attribute_not_exists(u) OR u<${stay})`)
  update.sets.push(`u=${stay}`)
  return update.build()
}

/** Ends this run's turn, unless the note has changed since it was read. The row stays, empty. */
function homeUpdate({ holder, stayMs }: Awake): Update {
  const update = new Expression()
  update.condition(`h=${update.value(holder)}`)
  update.condition(stayMs === undefined ? 'attribute_not_exists(u)' : `u=${update.value(stayMs)}`)
  update.removes.push('h', 's', 'e', 'u')
  return update.build()
}
