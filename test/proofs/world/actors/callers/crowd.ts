import type { Mortal } from '../../harness/mortal.ts'
import { inLife, type World } from '../../harness/world.ts'

type Work<A> = {
  readonly concurrency: number
  readonly thinkMs: () => number
  readonly act: (member: A, done: () => void) => void
}

/** Processes at work: each does a few things at once, one after another, while any are left. */
export function crowdOf<A extends Mortal<unknown>>(
  world: World,
  members: readonly A[],
  { concurrency, thinkMs, act }: Work<A>,
) {
  let left = 0
  const slots = members.flatMap((member) =>
    Array.from({ length: concurrency }, () => ({ member, isActive: false })),
  )
  const schedule = (slot: (typeof slots)[number], afterMs: number): void =>
    inLife(world, slot.member.life, world.scheduler.nowMs + afterMs, () => {
      slot.isActive = left > 0
      if (!slot.isActive) return
      left -= 1
      act(slot.member, () => schedule(slot, thinkMs()))
    })
  for (const member of members) {
    member.onCrash = () => {
      const afterMs = world.random.pick([1, 100, 2_000])
      for (const slot of slots) {
        if (slot.member === member && slot.isActive) schedule(slot, afterMs)
      }
    }
  }
  return {
    isDone: () => slots.every(({ isActive }) => !isActive),
    start(operations: number): void {
      left = operations
      for (const slot of slots) {
        slot.isActive = true
        schedule(slot, thinkMs())
      }
    },
  }
}
