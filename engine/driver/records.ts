// The records of queues as one process reads, remembers and writes them. A remembered record may be outdated, so it may
// only ever lead to a conditional write (rule 7). A fenced write that loses its race gets the record that the winner
// left. If its answer is lost, the marks in the record tell what became of it (rule 5): it happened; it never will; or it
// is still open, and we send it again. If the record can no longer tell, neither can we: the outcome is unknown.

import type { Clock, Dynamo, Random, Row, Transacted, Written } from '../../aws/dynamo.ts'
import { QueueError } from '../../shared/errors.ts'
import { BoundedCache, randomText } from '../../shared/system.ts'
import type { TailLimits } from '../core/append.ts'
import { type FencedChange, type FenceOptions, fenced } from '../core/fence.ts'
import { recordKey } from '../core/keys.ts'
import {
  HOLD_MS,
  REMEMBERED_RECORD_BYTES_MAX,
  ROOMY_TAIL,
  THROTTLED_FOR_MS,
  TIGHT_TAIL,
} from '../core/limits.ts'
import { MARK_CHARACTERS, markAfter, patiently, type QueueRecord } from '../core/record.ts'
import { isLimited } from '../core/settings.ts'
import { decodeRecord, type StoredRecord } from '../core/stored-record.ts'
import { holdUpdate } from '../requests/blind-updates.ts'
import { fencedUpdate } from '../requests/fenced-update.ts'

type Update = ReturnType<typeof fencedUpdate>

type Committed =
  | { readonly kind: 'committed'; readonly record: QueueRecord }
  /** Another writer was first: this is the record it left. */
  | { readonly kind: 'lost'; readonly current: QueueRecord | undefined }

export type CommittedBeside =
  /** DynamoDB does not return what a transaction wrote, so the record is here only if we have read it. */
  | { readonly kind: 'committed'; readonly record: QueueRecord | undefined }
  | Extract<Committed, { kind: 'lost' }>
  /** DynamoDB refused another entry of the transaction than the record's; `row` is the item it met. */
  | { readonly kind: 'blocked'; readonly row: Row | undefined }

type Sent = Written | { readonly kind: 'blocked'; readonly row: Row | undefined }

type Parts = {
  readonly dynamo: Dynamo
  readonly clock: Clock
  readonly random: Random
  /** After this long, we announce items again that nobody takes; absent without events. */
  readonly remindAfterMs: number | undefined
}

/** How often we send one fenced write whose answers get lost; after that, the store is out of reach. */
const FENCED_SENDINGS_MAX = 4
const RESEND_AFTER_MS = 50

export class Records {
  readonly #parts: Parts
  /** Records as this process last saw them. They may only ever lead to a conditional write (rule 7). */
  #memory = new BoundedCache<QueueRecord>(REMEMBERED_RECORD_BYTES_MAX)
  /** When we saw the records of queues with limits: a limit that no longer exists must not deny calls. */
  #limitsSeenMs = new WeakMap<QueueRecord, number>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The same records; from this time on, requests for them fail and certainly change nothing. */
  until(deadlineMs: number): Records {
    const bounded = new Records({ ...this.#parts, dynamo: this.#parts.dynamo.until(deadlineMs) })
    bounded.#memory = this.#memory
    bounded.#limitsSeenMs = this.#limitsSeenMs
    return bounded
  }

  // Reading and remembering.

  /** The record as it is now. */
  async read(queue: string): Promise<QueueRecord | undefined> {
    return this.seen(queue, await this.#parts.dynamo.get(recordKey(queue), true))
  }

  /** The record as we last saw it. */
  recall(queue: string): QueueRecord | undefined {
    return this.#memory.get(queue)
  }

  forget(queue: string): void {
    this.#memory.delete(queue)
  }

  /** The record may be one that we only assume to be right, because no call draws conclusions from memory. */
  remember(record: QueueRecord): void {
    this.#memory.set(record.queue, record, rememberedBytes(record))
  }

  /** Decodes a record that DynamoDB handed over, and remembers it. */
  seen(queue: string, row: Row | undefined): QueueRecord | undefined {
    if (row === undefined) {
      this.forget(queue)
      return undefined
    }
    const record = decodeRecord(row as StoredRecord)
    this.remember(record)
    if (isLimited(record.configuration)) {
      this.#limitsSeenMs.set(record, this.#parts.clock.nowMs())
    }
    return record
  }

  /** When we saw this record, if its queue has limits. */
  limitsSeenMs(record: QueueRecord): number | undefined {
    return this.#limitsSeenMs.get(record)
  }

  // Blind writes.

  update(queue: string, update: Parameters<Dynamo['update']>[1], eager = false): Promise<Written> {
    return this.#parts.dynamo.update(recordKey(queue), update, eager)
  }

  /** An update of a record as an entry of a transaction. If DynamoDB refuses it, it returns the record. */
  entry(queue: string, update: Update) {
    return {
      Update: {
        TableName: this.#parts.dynamo.tableName,
        Key: recordKey(queue),
        ...update,
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
      },
    }
  }

  /** The record that a blind write has left or met; as it is now if the answer was lost. */
  async after(queue: string, written: Written): Promise<QueueRecord | undefined> {
    return written.kind === 'unknown' ? this.read(queue) : this.seen(queue, written.row)
  }

  /**
   * Asks claims to stand back for a moment. They do not move the version, so a fenced write that depends
   * on there being none would lose to a steady stream of them for ever; with this it gets its turn.
   */
  async hold(record: QueueRecord): Promise<QueueRecord | undefined> {
    const { queue } = record
    // Without locks there were no claims that could be in the way; others may have written meanwhile.
    if (record.locks.size === 0) return this.read(queue)
    const untilMs = this.#parts.clock.nowMs() + HOLD_MS
    return this.after(queue, await this.update(queue, holdUpdate(record, untilMs)))
  }

  // Fenced writes.

  newMark(): string {
    return randomText(this.#parts.random, MARK_CHARACTERS)
  }

  /** A decision as a fenced write. */
  change(
    before: QueueRecord,
    draft: QueueRecord,
    options: Omit<FenceOptions, 'mark' | 'remindAfterMs'>,
  ): FencedChange {
    return fenced(before, draft, {
      ...options,
      mark: this.newMark(),
      remindAfterMs: this.#parts.remindAfterMs,
    })
  }

  /** Writes a fenced change. `eager`: do not back off while the store throttles. */
  async commit(
    change: FencedChange,
    { eager = false }: { readonly eager?: boolean } = {},
  ): Promise<Committed> {
    const update = fencedUpdate(change)
    const committed = await this.#settled(change, () =>
      this.update(change.before.queue, update, eager),
    )
    // A single update always returns the record, and has no other entry that could block it.
    return committed as Committed
  }

  /** Writes a fenced change and the rows beside it in one transaction. */
  async commitBeside(change: FencedChange, beside: readonly Row[]): Promise<CommittedBeside> {
    const { queue } = change.before
    const own = this.entry(queue, fencedUpdate(change))
    return this.#settled(change, async () => {
      this.forget(queue)
      const items = [own, ...beside] as never
      return sentOf(await this.#parts.dynamo.transact({ TransactItems: items }))
    })
  }

  /**
   * If an answer is lost, looks for the mark that the write would have left (rule 5). If the mark is there,
   * the write happened. If another mark is in its place, it did not happen and never can, because the version
   * has moved on. While the version has not moved, we send the very same request again: however many copies
   * are on their way, only one of them can ever find that version.
   */
  async #settled(change: FencedChange, send: () => Promise<Sent>): Promise<CommittedBeside> {
    const { queue } = change.before
    let cause: unknown
    for (let sending = 1; sending <= FENCED_SENDINGS_MAX; sending += 1) {
      const first = sending === 1
      const sent = await send().catch((error: unknown) => {
        throw first ? error : QueueError.unknown(queue, error)
      })
      if (sent.kind === 'done') {
        return { kind: 'committed', record: sent.row && this.seen(queue, sent.row) }
      }
      if (sent.kind === 'blocked') {
        // This sending did nothing; an earlier one may have done all of it.
        return first ? sent : await this.#settleDoubt(change, sent.row)
      }
      let current: QueueRecord | undefined
      if (sent.kind === 'failed') {
        if (first) return { kind: 'lost', current: this.seen(queue, sent.row) }
        current = this.#seenInDoubt(queue, sent.row)
      } else {
        cause = sent.cause
        await this.#parts.clock.sleep(RESEND_AFTER_MS * (sending - 0.5))
        current = await this.#readInDoubt(queue)
      }
      const verdict = verdictOn(change, current)
      if (verdict.kind !== 'open') return committedBy(verdict, queue, cause)
      // The version has not moved, so another guard refused it: an earlier sending may still land.
      if (sent.kind === 'failed') break
    }
    throw QueueError.unknown(queue, cause)
  }

  async #settleDoubt(change: FencedChange, item: Row | undefined): Promise<CommittedBeside> {
    const { queue } = change.before
    const verdict = verdictOn(change, await this.#readInDoubt(queue))
    return committedBy(
      verdict,
      queue,
      new Error(`Refused while an earlier sending is open: ${item !== undefined}`),
    )
  }

  /** Reads the record after a lost answer: if we cannot read it either, we do not know what happened. */
  #readInDoubt(queue: string): Promise<QueueRecord | undefined> {
    return this.read(queue).catch((error: unknown) => {
      throw QueueError.unknown(queue, error)
    })
  }

  /** Decodes it while an earlier sending is open: a record that we cannot use does not end the doubt. */
  #seenInDoubt(queue: string, row: Row | undefined): QueueRecord | undefined {
    try {
      return this.seen(queue, row)
    } catch (error) {
      throw QueueError.unknown(queue, error)
    }
  }

  // What the next write goes by.

  /** A pause that grows with the attempt and differs between writers. */
  async pause(attempt: number): Promise<void> {
    const { clock, random } = this.#parts
    await clock.sleep(Math.min(100, 4 * attempt) * (0.5 + random()))
  }

  /** When the sweeper should look whether a consumer has come for the items that we append now. */
  remindAtMs(): number | undefined {
    const { clock, remindAfterMs } = this.#parts
    return remindAfterMs === undefined ? undefined : patiently(clock.nowMs() + remindAfterMs)
  }

  /** Appends may fill the tail well up while the store keeps pace, but only a little once it throttles. */
  tailLimits(): TailLimits {
    return this.isThrottled() ? TIGHT_TAIL : ROOMY_TAIL
  }

  isThrottled(): boolean {
    const { clock, dynamo } = this.#parts
    return dynamo.throttledSince(clock.nowMs() - THROTTLED_FOR_MS)
  }
}

/** About what a decoded record takes in memory: strings at two bytes a character, objects around. */
const rememberedBytes = (record: QueueRecord): number =>
  2_000 + 2 * record.tailBytes + 600 * record.lanes.size + 300 * record.locks.size

function sentOf(transacted: Transacted): Sent {
  if (transacted.kind === 'done') return { kind: 'done', row: undefined }
  if (transacted.kind === 'unknown') return transacted
  const own = transacted.reasons[0]
  if (own?.failed) return { kind: 'failed', row: own.row }
  return { kind: 'blocked', row: transacted.reasons.find(({ failed }) => failed)?.row }
}

/** What a record says about a write whose answer was lost. */
type Verdict =
  | { readonly kind: 'happened'; readonly record: QueueRecord }
  | { readonly kind: 'never'; readonly current: QueueRecord }
  /** The version is still the one that the write expects, so it may still land. */
  | { readonly kind: 'open' }
  | { readonly kind: 'unknowable' }

function verdictOn(change: FencedChange, current: QueueRecord | undefined): Verdict {
  const { before } = change
  if (current === undefined || current.born !== before.born) return { kind: 'unknowable' }
  if (current.version === before.version) return { kind: 'open' }
  const mark = markAfter(current, before.version)
  if (mark === undefined) return { kind: 'unknowable' }
  return mark === change.mark ? { kind: 'happened', record: current } : { kind: 'never', current }
}

function committedBy(verdict: Verdict, queue: string, cause: unknown): CommittedBeside {
  if (verdict.kind === 'happened') return { kind: 'committed', record: verdict.record }
  if (verdict.kind === 'never') return { kind: 'lost', current: verdict.current }
  throw QueueError.unknown(queue, cause)
}
