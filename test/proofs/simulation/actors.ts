import type { Command } from './command.ts'
import type { Operation } from './operation.ts'
import type { Profile } from './profile.ts'
import { inLife, type World } from './world.ts'
import type { Writer } from './writer.ts'

/** The writers at work: each runs a few operations at once, one after another, while any are left. */
export class Actors {
  readonly #world: World
  readonly #profile: Profile
  readonly #slots: Slot[] = []
  readonly #next: () => Command
  readonly #learn: (operation: Operation) => void
  #left = 0

  constructor(
    world: World,
    profile: Profile,
    writers: readonly Writer[],
    next: () => Command,
    learn: (operation: Operation) => void,
  ) {
    this.#world = world
    this.#profile = profile
    this.#next = next
    this.#learn = learn
    for (const writer of writers) {
      for (let i = 0; i < profile.concurrency; i += 1) {
        this.#slots.push({ writer, active: false })
      }
      writer.onCrash = () => this.#restart(writer)
    }
  }

  get done(): boolean {
    return this.#slots.every(({ active }) => !active)
  }

  start(operations: number): void {
    this.#left = operations
    for (const slot of this.#slots) {
      slot.active = true
      this.#schedule(slot, this.#think())
    }
  }

  #think(): number {
    const { random } = this.#world
    return random.chance(0.05)
      ? this.#profile.thinkMaxMs * 20 * random.next()
      : this.#profile.thinkMaxMs * random.next()
  }

  #schedule(slot: Slot, afterMs: number): void {
    const { scheduler } = this.#world
    inLife(this.#world, slot.writer.life, scheduler.nowMs + afterMs, () => {
      if (this.#left <= 0) {
        slot.active = false
        return
      }
      this.#left -= 1
      slot.writer.run(this.#next(), (operation) => {
        this.#learn(operation)
        this.#schedule(slot, this.#think())
      })
    })
  }

  #restart(writer: Writer): void {
    const afterMs = this.#world.random.pick([1, 100, 2_000])
    for (const slot of this.#slots) {
      if (slot.writer === writer && slot.active) this.#schedule(slot, afterMs)
    }
  }
}

type Slot = { readonly writer: Writer; active: boolean }
