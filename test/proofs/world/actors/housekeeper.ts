import { queueOfRecordKey } from '../../../../lambdas/engine/core/keys.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import { inLife, sendEvent, type World } from '../harness/world.ts'
import type { Writer } from './callers/writer.ts'

/** As the stack asks of Lambda. After that the event counts as failed, and a later change or the sweep brings another. */
const RETRIES_MAX = 5

/**
 * The stream and its reader: a change whose new image has `work` makes it housekeep that queue.
 * Events come late, out of order, more than once, or never.
 */
export class Housekeeper {
  readonly #world: World
  readonly #writer: Writer
  readonly #waiting = new Set<string>()
  readonly #busy = new Set<string>()
  /** How often in a row the process died over a queue. */
  readonly #deaths = new Map<string, number>()

  constructor(world: World, writer: Writer) {
    this.#world = world
    this.#writer = writer
    writer.onCrash = () => {
      for (const queue of this.#busy) if (this.#mayRetry(queue)) this.#waiting.add(queue)
      this.#busy.clear()
      for (const queue of this.#waiting) this.#event(queue, 100)
    }
  }

  observe(change: Change): void {
    const { pk, newItem } = change
    if (newItem?.work === undefined || !pk.startsWith('q#')) return
    const queue = queueOfRecordKey(pk)
    sendEvent(this.#world, change, (afterMs) => this.#event(queue, afterMs))
  }

  /** The schedule fires. */
  sweep(): void {
    this.#writer.run({ verb: 'returnExpiredLocks', queue: '' }, () => {})
  }

  #mayRetry(queue: string): boolean {
    const deaths = (this.#deaths.get(queue) ?? 0) + 1
    if (deaths <= RETRIES_MAX) this.#deaths.set(queue, deaths)
    else this.#deaths.delete(queue)
    return deaths <= RETRIES_MAX
  }

  #event(queue: string, afterMs: number): void {
    const { scheduler } = this.#world
    inLife(this.#world, this.#writer.life, scheduler.nowMs + afterMs, () => {
      this.#waiting.add(queue)
      this.#next(queue)
    })
  }

  #next(queue: string): void {
    if (this.#busy.has(queue) || !this.#waiting.delete(queue)) return
    this.#busy.add(queue)
    const request = { leaveStuck: true }
    this.#writer.run({ verb: 'housekeep', queue, request }, () => {
      this.#busy.delete(queue)
      this.#deaths.delete(queue)
      this.#next(queue)
    })
  }
}
