// Takes from the answers what they say about the order of a history, so that the search need not guess.
// Only what holds in every order that the model could explain: a wrong pair here would call a
// right history wrong, never a wrong one right.

import type { Call } from './checker.ts'
import type { QueueAnswer, QueueOperation } from './queue-state.ts'

type QueueCall = Call<QueueOperation, QueueAnswer>
/** For each call, by index, the calls that must have taken effect before it. */
export type Precedence = readonly ReadonlySet<number>[]

type Handed = { readonly pop: number; readonly push: number; readonly place: number }

export function precedenceOf(calls: readonly QueueCall[]): Precedence {
  const before = calls.map(() => new Set<number>())
  const pushOf = pushesByName(calls)
  const laneOf = new Map<string, Handed[]>()

  for (const [pop, { operation, answer }] of calls.entries()) {
    // A pop repeated with its key is handed the same items again, at any later time.
    if (operation.kind !== 'pop' || operation.key !== undefined) continue
    if (answer?.kind !== 'items') continue
    let last: (Handed & { readonly priority: number }) | undefined
    for (const { name, priority, deliveries } of answer.items) {
      const pushed = pushOf.get(name)
      if (pushed === undefined) continue
      const handed = { pop, priority, ...pushed }
      // Items never change places: this one was pushed after the one before it in the answer.
      if (last?.priority === priority && last.push !== handed.push) {
        before[handed.push]!.add(last.push)
      }
      last = handed
      if (deliveries !== 1) continue
      const lane = laneOf.get(`${priority}`)
      if (lane === undefined) laneOf.set(`${priority}`, [handed])
      else lane.push(handed)
    }
  }

  // Handed out for the first time after another was over: it was behind it.
  for (const lane of laneOf.values()) {
    for (const a of lane) {
      for (const b of lane) {
        if (a.push !== b.push && isOver(calls[a.pop]!, calls[b.pop]!)) before[b.push]!.add(a.push)
      }
    }
  }
  close(before, calls)
  // And the pop that first gets the later item comes after the pop that got the earlier one.
  for (const lane of laneOf.values()) {
    for (const a of lane) {
      for (const b of lane) {
        if (a.pop === b.pop) continue
        const isAhead = a.push === b.push ? a.place < b.place : before[b.push]!.has(a.push)
        if (isAhead) before[b.pop]!.add(a.pop)
      }
    }
  }
  return before
}

/**
 * Items that were pushed once, and stay in the place that this gave them: where a push was repeated, we cannot know
 * which call pushed the item.
 */
function pushesByName(calls: readonly QueueCall[]) {
  const pushOf = new Map<string, { push: number; place: number } | undefined>()
  for (const [push, { operation }] of calls.entries()) {
    if (operation.kind !== 'push') continue
    for (const [place, { name, later }] of operation.items.entries()) {
      pushOf.set(name, pushOf.has(name) || later !== undefined ? undefined : { push, place })
    }
  }
  for (const { operation } of calls) {
    if (operation.kind === 'move') pushOf.set(operation.name, undefined)
  }
  return pushOf
}

const isOver = (a: QueueCall, b: QueueCall) => a.answer !== undefined && a.returnedAt < b.calledAt

/** Adds everything that follows, also from the times of the pushes. */
function close(before: readonly Set<number>[], calls: readonly QueueCall[]) {
  const pushes = calls.flatMap(({ operation }, index) => (operation.kind === 'push' ? [index] : []))
  for (const b of pushes) {
    for (const a of pushes) if (a !== b && isOver(calls[a]!, calls[b]!)) before[b]!.add(a)
  }
  for (const through of pushes) {
    for (const after of pushes) {
      if (!before[after]!.has(through)) continue
      for (const first of before[through]!) before[after]!.add(first)
    }
  }
}
