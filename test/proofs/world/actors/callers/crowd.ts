import { inLife, type Life, type World } from '../../harness/world.ts'

export type Member = {
  readonly life: Life
  /** Called after a crash, when the new process is there. */
  onCrash: () => void
}

type Slot<A> = { readonly member: A; active: boolean }

type Work<A> = {
  readonly concurrency: number
  readonly thinkMs: () => number
  readonly act: (member: A, done: () => void) => void
}

/** Processes at work: each does a few things at once, one after another, while any are left. */
export class Crowd<A extends Member> {
  readonly #world: World
  readonly #slots: Slot<A>[]
  readonly #work: Work<A>
  #left = 0

  constructor(world: World, members: readonly A[], work: Work<A>) {
    this.#world = world
    this.#work = work
    const slots = Array.from({ length: work.concurrency })
    this.#slots = members.flatMap((member) => slots.map(() => ({ member, active: false })))
    for (const member of members) member.onCrash = () => this.#restart(member)
  }

  get done(): boolean {
    return this.#slots.every(({ active }) => !active)
  }

  start(operations: number): void {
    this.#left = operations
    for (const slot of this.#slots) {
      slot.active = true
      this.#schedule(slot, this.#work.thinkMs())
    }
  }

  #schedule(slot: Slot<A>, afterMs: number): void {
    const { scheduler } = this.#world
    inLife(this.#world, slot.member.life, scheduler.nowMs + afterMs, () => {
      if (this.#left <= 0) {
        slot.active = false
        return
      }
      this.#left -= 1
      this.#work.act(slot.member, () => this.#schedule(slot, this.#work.thinkMs()))
    })
  }

  #restart(member: A): void {
    const afterMs = this.#world.random.pick([1, 100, 2_000])
    for (const slot of this.#slots) {
      if (slot.member === member && slot.active) this.#schedule(slot, afterMs)
    }
  }
}
