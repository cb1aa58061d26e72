import { queueOfRecordKey } from '../../../../lambdas/engine/core/keys.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { Joining, Part } from '../harness/actor.ts'
import { inLife, sendEvent, type World } from '../harness/world.ts'
import type { Writer } from './callers/writer.ts'

const MINUTE_MS = 60_000
/** A rest of hours has no more sweeps than its own: nothing happens between them. */
const SWEEPS_MAX = 12
/** Each look of Wake asks all 16 shards: as many as a hundred operations of callers. */
const WAKES_MAX = 5

/** What the deployed stack does by itself: the minute's sweep, and Wake, which the sweep and the stream call. */
export class Upkeep implements Part {
  readonly #joining: Joining
  readonly #wakes: boolean
  readonly #sweeper: Writer
  readonly #wakers: Writer[] = []
  readonly #wakeMs: number
  #sweeps = 0
  #woken = 0
  #isOver = false

  constructor(joining: Joining) {
    this.#joining = joining
    this.#wakes = joining.random.chance(0.4)
    this.#sweeper = joining.newWriter('sweeper')
    this.#wakeMs = joining.random.pick([3_000, 10_000, 40_000])
  }

  start(): void {
    this.#joining.after(this.#joining.random.next() * MINUTE_MS, () => this.#sweep())
  }

  stop(): void {
    this.#isOver = true
  }

  /** A timer has become near: its flag is new in this write. */
  observe({ oldItem, newItem }: Change): void {
    if (!this.#wakes || this.#isOver) return
    if (newItem?.wk === undefined || oldItem?.wk !== undefined) return
    const untilMs = Number(newItem.checkAt)
    sendEvent(this.#joining.world, (afterMs) =>
      this.#joining.after(afterMs + 1_000, () => this.#wake(untilMs)),
    )
  }

  #sweep(): void {
    if (this.#isOver || this.#sweeps === SWEEPS_MAX) return
    this.#sweeps += 1
    const onNext = (untilMs: number) => this.#wake(untilMs)
    const request = this.#wakes ? { onNext } : {}
    this.#sweeper.run({ verb: 'returnExpiredLocks', queue: '', request }, () => {})
    this.#joining.after(MINUTE_MS, () => this.#sweep())
  }

  #wake(untilMs: number): void {
    if (this.#isOver || this.#woken === WAKES_MAX) return
    const { world, newWriter, random } = this.#joining
    this.#woken += 1
    const waker = this.#wakers.shift() ?? newWriter(`wake${this.#woken}`)
    const deadlineMs = Math.floor(world.scheduler.nowMs) + this.#wakeMs
    this.#joining.after(50 + 600 * random.next(), () => {
      waker.run({ verb: 'wake', queue: '', request: { untilMs, deadlineMs } }, () => {
        this.#wakers.push(waker)
      })
    })
  }
}

/**
 * The stream and its reader: a change whose new image has `work` makes it housekeep that queue.
 * Events come late, out of order, more than once, or never.
 */
export class Housekeeper {
  readonly #world: World
  readonly #writer: Writer
  readonly #waiting = new Set<string>()
  readonly #busy = new Set<string>()

  constructor(world: World, writer: Writer) {
    this.#world = world
    this.#writer = writer
    writer.onCrash = () => {
      for (const queue of this.#busy) this.#waiting.add(queue)
      this.#busy.clear()
      for (const queue of this.#waiting) this.#event(queue, 100)
    }
  }

  observe({ pk, newItem }: Change): void {
    if (newItem?.work === undefined || !pk.startsWith('q#')) return
    const queue = queueOfRecordKey(pk)
    sendEvent(this.#world, (afterMs) => this.#event(queue, afterMs))
  }

  /** The schedule fires. */
  sweep(): void {
    this.#writer.run({ verb: 'returnExpiredLocks', queue: '' }, () => {})
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
      this.#next(queue)
    })
  }
}
