// Takes slots of one row: load (from memory, or from the last refusal) → decide → commit. Settles these races:
//
// - others take at the same time: blind adds commute; a refused write returns the row as it is, and we decide again;
// - somebody has changed the rules: the row tells news, and the caller looks the settings up;
// - the answer is lost: we never look up what happened. At worst its slots are wasted, and we take others;
// - the answer comes after its window: nobody may use the slots, and we take others.

import { Expression } from '../aws/table.ts'
import { QueueError } from '../shared/errors.ts'
import { CLOCKS_APART_MAX_MS } from './core/bounds.ts'
import { type Epoch, epochText, overMs } from './core/epoch.ts'
import { type RateRow, rowKey } from './core/row.ts'
import { inLineOf, rulesOf, type Settings } from './core/settings.ts'
import { type Ask, planSlots, roomFor, type SlotCondition, type SlotWrite } from './core/slots.ts'
import {
  type Attempted,
  attempts,
  done,
  type KnownSettings,
  LOST_MAX,
  markShared,
  mayDeny,
  nowMs,
  PAUSE_MS,
  type Place,
  type SeenRow,
  type SlotLimiter,
  seenRow,
} from './limiter.ts'

/** What a call asks of one row, beside the rules. */
type SlotRequest = {
  readonly cost: number
  readonly canWait: boolean
  readonly settings: Settings
  /** This very call has read the settings. */
  readonly looked: boolean
}

export type Taken =
  | {
      readonly kind: 'slot'
      readonly row: RateRow
      readonly epoch: Epoch
      readonly position: number
    }
  | {
      readonly kind: 'denied'
      readonly epoch: Epoch
      readonly nowMs: number
      readonly opensMs: number
      readonly row: RateRow
    }
  /** The row knows other settings than we do, so we must decide everything again. */
  | { readonly kind: 'news' }

/**
 * Blind writes commute, so DynamoDB hardly ever refuses one twice: only at a window's end, or because of a change of
 * rules, which may lose to a busy row several times before its slack is enough.
 */
const ATTEMPTS_MAX = 12
/** The first refusals need no pause: each returned the row as it is. */
const EAGER_ATTEMPTS = 3
/**
 * How long after the end of its slot's window an answer may arrive. A slot that comes later is wasted: its row may
 * have been deleted meanwhile, and another call may have the slot. A row outlives its windows by twenty times as
 * long.
 */
const LATE_SLOT_MS = 1_000

/** One call's question to one row. */
type Asked = { readonly place: Place; readonly known: KnownSettings; readonly request: SlotRequest }

/** What a call has learnt from its attempts so far. */
type Call = {
  /** This call has got the row from the store, so its age in memory does not matter. */
  told: boolean
  lost: number
  stepsBack: number
}

export function take(
  limiter: SlotLimiter,
  place: Place,
  known: KnownSettings,
  request: SlotRequest,
): Promise<Taken> {
  const call: Call = { told: false, lost: 0, stepsBack: 0 }
  return attempts(
    ATTEMPTS_MAX,
    (attempt) => takeOnce(limiter, { place, known, request }, call, attempt),
    () =>
      new QueueError(
        'BUSY',
        `Cannot decide on rate limit "${place.key}" because too many others change it; try again`,
      ),
  )
}

async function takeOnce(
  limiter: SlotLimiter,
  asked: Asked,
  call: Call,
  attempt: number,
): Promise<Attempted<Taken>> {
  const { place, known, request } = asked
  const key = rowKey(place.key, place.shard)
  const decided = decideTake(limiter.rows.get(key.pk), asked, call.told, attempt, nowMs(limiter))
  if (decided.kind === 'denied' || decided.kind === 'news') return done(decided)
  const { row, write } = decided
  if (!limiter.turnstile.admits(key.pk, roomFor(write, row), call.stepsBack, nowMs(limiter))) {
    call.stepsBack += 1
    await limiter.turnstile.next(key.pk)
    return { kind: 'stepped-back' }
  }
  const written = await limiter.turnstile.pass(key.pk, nowMs(limiter), async () => {
    const answer = await limiter.dynamo.update(key, slotUpdate(write))
    const after = answer.kind === 'unknown' ? undefined : seenRow(limiter, place, answer.row)
    return { ...answer, row: after }
  })
  switch (written.kind) {
    case 'done': {
      if (decided.kind === 'hand-over') {
        call.told = true
        break
      }
      const after = written.row as RateRow
      const position = after.cursor - write.width
      // Whether what we add to is where we left it, last time.
      if (attempt === 1 && write.cursor.kind === 'add') {
        markShared(limiter, place, position !== row?.cursor)
      }
      if (isInTime(write.epoch, position, request.cost, nowMs(limiter))) {
        return done({ kind: 'slot', row: after, epoch: write.epoch, position })
      }
      // This process was frozen, or the store was slow: the window of its slots is over.
      call.told = true
      break
    }
    case 'failed':
      // A configured row does not exist: somebody removed its configuration, and the row was forgotten.
      if (written.row === undefined && known.configured && place.shard === 0) {
        return done({ kind: 'news' })
      }
      // We tried to begin the window, but another process had; or we assumed one had, but none had.
      markShared(limiter, place, write.cursor.kind === 'set')
      call.told = true
      break
    case 'unknown':
      call.lost += 1
      if (call.lost > LOST_MAX) throw outOfReach(place.key, written.cause)
      break
    default:
      throw written satisfies never
  }
  if (attempt > EAGER_ATTEMPTS || written.kind === 'unknown') {
    await limiter.clock.sleep(PAUSE_MS * attempt * limiter.random())
  }
  return { kind: 'again' }
}

type TakeDecision =
  | Extract<Taken, { kind: 'denied' | 'news' }>
  | {
      readonly kind: 'write' | 'hand-over'
      readonly write: SlotWrite
      readonly row: RateRow | undefined
    }

/** From the row as last seen. Only a row that is fresh enough may deny. */
function decideTake(
  seen: SeenRow | undefined,
  { place, known, request }: Asked,
  told: boolean,
  attempt: number,
  clockMs: number,
): TakeDecision {
  const row = seen?.row
  if (row !== undefined && tellsNews(place, row, known, request.looked)) return { kind: 'news' }
  const guess = { slack: slackOf(attempt), begun: attempt === 1 && seen?.shared === true }
  const plan = planSlots(row, askOf(place, row, known, request), clockMs, guess)
  if (plan.kind !== 'denied') return { ...plan, row }
  const mayBe = told || (seen !== undefined && mayDeny(seen, clockMs))
  if (mayBe && row !== undefined) return { ...plan, row }
  // We may no longer deny from memory, so send the write for a row never seen, which returns the row as it is.
  const unseen = planSlots(undefined, askOf(place, undefined, known, request), clockMs)
  if (unseen.kind !== 'write') throw new Error('A row that was never seen denies nothing')
  return { ...unseen, row: undefined }
}

/**
 * Whether the row has settings that we do not know, or lacks those that we thought it had; or whether newer ones than
 * ours rule it, unless we have read the settings since those were made.
 */
function tellsNews({ shard }: Place, row: RateRow, known: KnownSettings, looked: boolean): boolean {
  const { configuration, epoch } = row
  if (shard === 0 && configuration?.revision !== (known.configured ? known.revision : undefined)) {
    return true
  }
  if (looked || epoch.revision <= known.revision) return false
  // Only a key's own settings have other shards.
  if (shard > 0) return true
  return known.asOfMs <= epoch.revision + CLOCKS_APART_MAX_MS
}

function askOf(
  place: Place,
  row: RateRow | undefined,
  known: KnownSettings,
  request: SlotRequest,
): Ask {
  const { cost, canWait, settings } = request
  return {
    cost,
    canWait,
    inLine: inLineOf(settings, place.shard),
    rules: rulesOf(settings, place.shard),
    // A row's revision must never go back, or an old process would take its own rules for the newer ones.
    revision: Math.max(known.revision, row?.epoch.revision ?? 0),
    configured: known.configured && place.shard === 0,
  }
}

/** How many slots a change of rules sacrifices to get through; none at first. */
const slackOf = (attempt: number): number => (attempt <= 2 ? 0 : 4 ** Math.min(attempt - 2, 5))

/** Nobody may use a slot whose window is over, even if it was open when the call asked for it. */
const isInTime = (epoch: Epoch, position: number, cost: number, clockMs: number): boolean =>
  clockMs < overMs(epoch, position, cost) + LATE_SLOT_MS

export const outOfReach = (key: string, cause: unknown): QueueError =>
  new QueueError(
    'STORE_UNAVAILABLE',
    `Cannot decide on rate limit "${key}" because the store's answers were lost; places may be wasted`,
    { outcome: 'unknown', cause },
  )

/** Takes a stretch of slots, on conditions that make sure that nobody else has it. */
export function slotUpdate(write: SlotWrite): ReturnType<Expression['build']> {
  const { cursor, condition } = write
  const update = new Expression()
  const epoch = epochText(write.epoch)
  // An add changes nothing but the cursor.
  if (cursor.kind === 'add') update.sets.push(`c=c+${update.value(cursor.value)}`)
  else {
    update.set('e', epoch)
    update.set('c', cursor.value)
  }
  update.set('t', write.atMs)
  if (write.ttl !== undefined) update.set(update.name('ttl'), write.ttl)
  if (write.overhang !== undefined) keep(update, 'o', write.overhang)
  update.condition(slotCondition(update, condition, write.atMs))
  return update.build()
}

function slotCondition(update: Expression, condition: SlotCondition, atMs: number): string {
  const { cursorMin, cursorMax } = condition
  // Somebody may have changed the rules, so that another ruler applies to the cursor.
  const sameRuler = `e=${update.value(condition.epochText)}`
  // A later window may have begun by another process's clock; then ours may be over.
  const sameTime =
    condition.atMs === undefined ? `t<=${update.value(atMs)}` : `t=${update.value(condition.atMs)}`
  // The window may be full or over, or the line full; or others may have moved the cursor on since we saw it.
  const inReach = `c BETWEEN ${update.value(cursorMin)} AND ${update.value(cursorMax)}`
  const all = `${sameRuler} AND ${sameTime} AND ${inReach}`
  return condition.orAbsent ? `(attribute_not_exists(e) OR (${all}))` : all
}

/** Sets the value if there is one, and removes the attribute if not. */
export function keep(update: Expression, name: 'o' | 'k', value: unknown): void {
  if (value === undefined || value === 0) update.removes.push(name)
  else update.set(name, value)
}
