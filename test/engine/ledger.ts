import assert from 'node:assert/strict'
import { expect } from 'vitest'
import { entryBytes } from '../../engine/core/item.ts'
import { earliestExpiryMs } from '../../engine/core/locks.ts'
import { endOf, inFlightOf, type QueueRecord, segmentOf } from '../../engine/core/record.ts'
import { noteBytes } from '../../engine/core/repeated-pushes.ts'
import type { PopOutcome, PopRequest, PushItem, Queues } from '../../engine/queues.ts'
import { deadLetterQueueOf } from '../../shared/bounds.ts'
import { QueueError } from '../../shared/errors.ts'
import { findFaults } from '../support/deliveries.ts'
import { DeliveryAccount, type Outcome } from '../support/delivery-account.ts'
import type { Stage } from './stage.ts'
import { idsOf, type Locked, textsOf } from './traffic.ts'

/**
 * What became of each item of a queue by what callers were told. In the end every item that was
 * pushed is settled once, purged, or still stored: never twice, never nowhere.
 */
export class Ledger {
  readonly queue: string
  readonly #stage: Stage
  readonly #account: DeliveryAccount
  #named = 0

  constructor(stage: Stage, queue: string) {
    let time = 0
    this.#stage = stage
    this.queue = queue
    this.#account = new DeliveryAccount(() => ++time)
  }

  /** Fresh items `"x12"`, in order. */
  items(name: string, count: number, priority = 0, bytes = 0): PushItem[] {
    return Array.from({ length: count }, () => {
      this.#named += 1
      return { text: JSON.stringify(`${name}${this.#named}`.padEnd(bytes, '.')), priority }
    })
  }

  async push(queues: Queues, items: readonly PushItem[], idempotencyKey?: string): Promise<void> {
    const key = idempotencyKey === undefined ? {} : { idempotencyKey }
    const named = items.map(({ text, priority = 0 }) => ({ name: text, priority }))
    const pushed = this.#account.pushing(named)
    await definite(queues.push(this.queue, { items, ...key }), pushed)
  }

  async pop(queues: Queues, request: PopRequest = {}): Promise<Locked | undefined> {
    const popped = this.#account.popping()
    const outcome = await definite(queues.pop(this.queue, request))
    return taken(outcome, popped)
  }

  async acknowledge(queues: Queues, lock: Locked | undefined, ids?: string[]): Promise<void> {
    if (lock === undefined) return
    const part = ids === undefined ? lock.items : lock.items.filter(({ id }) => ids.includes(id))
    const request = { lockId: lock.lock.id, ...(ids !== undefined && { ids }) }
    const acknowledged = this.#account.acknowledging(lock.lock.id, textsOf(part))
    await definite(queues.acknowledge(this.queue, request), acknowledged)
  }

  /** Pops and acknowledges an earlier lock in one. */
  async combined(queues: Queues, lock: Locked | undefined): Promise<Locked | undefined> {
    if (lock === undefined) return undefined
    const request = { count: 2, requireAck: true, acknowledge: lock.lock.id, competing: true }
    const acknowledged = this.#account.acknowledging(lock.lock.id, textsOf(lock.items))
    const popped = this.#account.popping()
    let isUnknown = false
    const outcome = await definite(
      queues.pop(this.queue, request),
      (how) => {
        // It may have acknowledged them, and lost the items it took to others meanwhile.
        isUnknown = how === 'unknown'
      },
      true,
    )
    if (!isUnknown) acknowledged(outcome === undefined || outcome.kind === 'locked' ? 'no' : 'yes')
    return taken(outcome, popped)
  }

  async purge(queues: Queues): Promise<void> {
    const answer = await definite(queues.purge(this.queue))
    const purged = answer?.itemsPurged ?? 0
    this.#account.tookUnseen({ least: purged, most: purged })
  }

  /** Takes out all there is and accounts for every item. */
  async close({ redriven = false } = {}): Promise<void> {
    const queues = this.#stage.engine()
    const dead: string[] = []
    for (const queue of [this.queue, deadLetterQueueOf(this.queue)]) {
      await this.#checkRecord(queue)
      for (let round = 0; round < 200; round += 1) {
        this.#stage.clock.pass(301_000)
        await queues.returnExpiredLocks()
        await queues.housekeep(queue)
        const popped = this.#account.popping()
        const outcome = await queues.pop(queue, { count: 100 })
        if (outcome.kind === 'locked') continue
        if (outcome.kind === 'empty') break
        if (queue === this.queue) taken(outcome, popped)
        else dead.push(...textsOf(outcome.items))
      }
      await this.#checkRecord(queue)
    }
    const { pushes, pops, acknowledgements, unseen } = this.#account
    const events = { pushes, pops, acknowledgements, unseen }
    expect(findFaults({ ...events, elsewhere: dead, redriven })).toEqual([])
    const pushed = new Set(pushes.flatMap(({ items }) => items.map(({ name }) => name)))
    expect(dead.filter((text) => !pushed.has(text))).toEqual([])
  }

  async #checkRecord(queue: string): Promise<void> {
    if ((await this.#stage.stored(queue)) === undefined) return
    checkRecount(await this.#stage.record(queue))
  }
}

function taken(
  outcome: PopOutcome | undefined,
  popped: ReturnType<DeliveryAccount['popping']>,
): Locked | undefined {
  if (outcome?.kind !== 'items') return undefined
  const { items, lock } = outcome
  const named = items.map(({ text, deliveries }) => ({ name: text, deliveries }))
  popped({ items: named, ...(lock && { lockId: lock.id }) })
  return lock && { ...outcome, lock }
}

/** A refusal changed nothing; an unknown outcome only where it is expected; the rest is a fault. */
async function definite<T>(
  call: Promise<T>,
  then: (how: Outcome) => void = () => {},
  mayBeUnknown = false,
): Promise<T | undefined> {
  try {
    const answer = await call
    then('yes')
    return answer
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    if (error.outcome === 'unknown' && !mayBeUnknown) throw error
    then(error.outcome === 'unknown' ? 'unknown' : 'no')
    return undefined
  }
}

/** Settles some of a lock, by ids: every other one. */
export const everyOther = (lock: Locked | undefined): string[] =>
  idsOf(lock?.items ?? []).filter((_, index) => index % 2 === 0)

/** The counts of a record say what a recount says. */
export function checkRecount(record: QueueRecord): void {
  let tailBytes = 0
  for (const lane of record.lanes.values()) {
    for (const entry of lane.tail) tailBytes += entryBytes(entry)
    // Not by `expect`, which is slow: thousands of lanes are looked at.
    assert.ok(lane.head <= lane.frontier && lane.frontier <= endOf(lane))
    assert.ok(segmentOf(lane, lane.head) >= lane.trimmed)
  }
  for (const note of record.notes.values()) tailBytes += noteBytes(note)
  expect(record.tailBytes).toBe(tailBytes)
  expect(record.inFlight).toBe(inFlightOf(record))
  const earliest = earliestExpiryMs(record)
  if (earliest !== undefined) {
    expect(record.checkAtMs ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(earliest)
  }
}
