import assert from 'node:assert/strict'
import { expect } from 'vitest'
import { entryBytes } from '../../lambdas/engine/core/entry.ts'
import { earliestExpiryMs } from '../../lambdas/engine/core/locks.ts'
import { endOf, inFlightOf, type QueueRecord, segmentOf } from '../../lambdas/engine/core/record.ts'
import type { PopRequest, PushItem, Queues } from '../../lambdas/engine/queues.ts'
import { QueueError } from '../../lambdas/foundation/errors.ts'
import { deadLetterQueueOf } from '../../lambdas/foundation/queue-id.ts'
import type { Stage } from './stage.ts'
import { idsOf, type Locked, textsOf } from './traffic.ts'

/**
 * What became of each item of a queue by what callers were told. In the end every item that was
 * pushed is settled once, purged, or still stored: never twice, never nowhere.
 */
export class Ledger {
  readonly queue: string
  readonly #stage: Stage
  readonly #pushed = new Map<string, number>()
  readonly #settled = new Set<string>()
  /** Nobody was told: settled or not. */
  readonly #open = new Set<string>()
  #purged = 0
  #named = 0

  constructor(stage: Stage, queue: string) {
    this.#stage = stage
    this.queue = queue
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
    await definite(queues.push(this.queue, { items, ...key }), () => this.pushed(items))
  }

  pushed(items: readonly PushItem[]): void {
    for (const { text, priority = 0 } of items) this.#pushed.set(text, priority)
  }

  async pop(queues: Queues, request: PopRequest = {}): Promise<Locked | undefined> {
    let taken: Locked | undefined
    await definite(queues.pop(this.queue, request), (outcome) => {
      if (outcome.kind !== 'items') return
      if (outcome.lock === undefined) this.#settle(textsOf(outcome.items))
      else taken = { ...outcome, lock: outcome.lock }
    })
    return taken
  }

  async acknowledge(queues: Queues, lock: Locked | undefined, ids?: string[]): Promise<void> {
    if (lock === undefined) return
    const part = ids === undefined ? lock.items : lock.items.filter(({ id }) => ids.includes(id))
    const request = { lockId: lock.lock.id, ...(ids !== undefined && { ids }) }
    await definite(queues.acknowledge(this.queue, request), () => this.#settle(textsOf(part)))
  }

  /** Pops and acknowledges an earlier lock in one. */
  async combined(queues: Queues, lock: Locked | undefined): Promise<Locked | undefined> {
    if (lock === undefined) return undefined
    let taken: Locked | undefined
    const request = { count: 2, requireAck: true, acknowledge: lock.lock.id, competing: true }
    await definite(
      queues.pop(this.queue, request),
      (outcome) => {
        if (outcome.kind === 'locked') return
        this.#settle(textsOf(lock.items))
        if (outcome.kind === 'items' && outcome.lock !== undefined) {
          taken = { ...outcome, lock: outcome.lock }
        }
      },
      // It may have acknowledged them, and lost the items it took to others meanwhile.
      () => {
        for (const text of textsOf(lock.items)) this.#open.add(text)
      },
    )
    return taken
  }

  async purge(queues: Queues): Promise<void> {
    await definite(queues.purge(this.queue), ({ itemsPurged }) => {
      this.#purged += itemsPurged
    })
  }

  #settle(texts: readonly string[]): void {
    for (const text of texts) {
      assert.ok(!this.#settled.has(text), `${text} was settled before`)
      this.#settled.add(text)
    }
  }

  /** Takes out all there is and accounts for every item; `inOrder` for each name and priority. */
  async close(inOrder: boolean): Promise<void> {
    const queues = this.#stage.engine()
    const left: string[] = []
    for (const queue of [this.queue, deadLetterQueueOf(this.queue)]) {
      await this.#checkRecord(queue)
      for (let round = 0; round < 200; round += 1) {
        this.#stage.clock.pass(301_000)
        await queues.returnExpiredLocks()
        await queues.housekeep(queue)
        const outcome = await queues.pop(queue, { count: 100 })
        if (outcome.kind === 'locked') continue
        if (outcome.kind === 'empty') break
        if (inOrder && queue === this.queue) this.#checkOrder(textsOf(outcome.items))
        left.push(...textsOf(outcome.items))
      }
      await this.#checkRecord(queue)
    }
    const seen = new Set(left)
    expect(seen.size, 'items delivered twice').toBe(left.length)
    expect(
      left.filter((text) => this.#settled.has(text)),
      'settled before',
    ).toEqual([])
    expect(
      left.filter((text) => !this.#pushed.has(text)),
      'never pushed',
    ).toEqual([])
    const missing = [...this.#pushed.keys()].filter(
      (text) => !seen.has(text) && !this.#settled.has(text) && !this.#open.has(text),
    )
    expect(missing.length, `missing: ${missing.join(' ')}`).toBe(this.#purged)
  }

  #checkOrder(texts: readonly string[]): void {
    const order = texts.map((text) => {
      const [, name = '', number = ''] = /^"([a-z]+)(\d+)/.exec(text) ?? []
      return { lane: `${name} at ${this.#pushed.get(text)}`, number: Number(number) }
    })
    for (const lane of new Set(order.map(({ lane }) => lane))) {
      const numbers = order.filter((other) => other.lane === lane).map(({ number }) => number)
      expect(numbers, lane).toEqual([...numbers].sort((a, b) => a - b))
    }
  }

  async #checkRecord(queue: string): Promise<void> {
    if ((await this.#stage.stored(queue)) === undefined) return
    checkRecount(await this.#stage.record(queue))
  }
}

/** A refusal changed nothing; an unknown outcome only where it is expected; the rest is a fault. */
async function definite<T>(
  call: Promise<T>,
  then: (answer: T) => void,
  unknown?: () => void,
): Promise<void> {
  let answer: T
  try {
    answer = await call
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    if (error.outcome !== 'unknown') return
    if (unknown === undefined) throw error
    return unknown()
  }
  then(answer)
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
  expect(record.tailBytes).toBe(tailBytes)
  expect(record.inFlight).toBe(inFlightOf(record))
  const earliest = earliestExpiryMs(record)
  if (earliest !== undefined) {
    expect(record.checkAtMs ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(earliest)
  }
}
