// Is there an order of a concurrent history that a sequential model could have answered? Wing and
// Gong's search with Lowe's memory: a set of calls taken together with the state they lead to is
// looked at once. Written after P-compositionality's lead: a history is of one queue.

/** A sequential model. States are immutable values. */
export type Model<State, Operation, Answer> = {
  readonly initial: State
  /**
   * The states that the operation may lead to if it gets this answer; none if it cannot get it.
   * Without an answer: every state that it may lead to.
   */
  apply(state: State, operation: Operation, answer: Answer | undefined): readonly State[]
  /** Equal for equal states, and for no others. */
  keyOf(state: State): string
}

export type Call<Operation, Answer> = {
  readonly operation: Operation
  /** Absent: the outcome is unknown. It may take effect at any time after the call, or never. */
  readonly answer?: Answer
  readonly calledAt: number
  readonly returnedAt: number
}

export type Verdict<State> =
  | { readonly kind: 'linearisable'; readonly order: readonly number[]; readonly steps: number }
  | {
      readonly kind: 'violation'
      /** The longest order that could be explained, the state after it, and what fits there no more. */
      readonly order: readonly number[]
      readonly state: State
      readonly stuck: readonly number[]
      readonly steps: number
    }
  | { readonly kind: 'undecided'; readonly steps: number }

/** Histories of 60 calls from 6 processes take some hundred steps; one that needs this many is useless. */
const STEPS_MAX = 1_000_000

type CheckOptions = {
  readonly stepsMax?: number
  /** For each call, the calls that are known to come before it. */
  readonly precedence?: readonly ReadonlySet<number>[]
}

export function checkHistory<State, Operation, Answer>(
  model: Model<State, Operation, Answer>,
  calls: readonly Call<Operation, Answer>[],
  { stepsMax = STEPS_MAX, precedence = [] }: CheckOptions = {},
): Verdict<State> {
  const byCall = calls.map((_, index) => index)
  byCall.sort((a, b) => calls[a]!.calledAt - calls[b]!.calledAt)

  const answeredCount = calls.filter(({ answer }) => answer !== undefined).length
  const seen = new Set<string>()
  const taken = new Set<number>()
  const order: number[] = []
  let longest: { order: number[]; state: State; stuck: number[] } = {
    order: [],
    state: model.initial,
    stuck: [],
  }
  let longestAnswered = -1
  let steps = 0

  /** Calls that may come next: nothing that is still open returned before they were called. */
  function candidates(): number[] {
    const open: number[] = []
    let firstReturn = Number.POSITIVE_INFINITY
    for (const index of byCall) {
      const call = calls[index]!
      if (call.calledAt > firstReturn) break
      if (taken.has(index)) continue
      if (isReady(index)) open.push(index)
      // A call without an answer never has to be over.
      if (call.answer !== undefined) firstReturn = Math.min(firstReturn, call.returnedAt)
    }
    return open
  }

  function isReady(index: number): boolean {
    for (const first of precedence[index] ?? []) if (!taken.has(first)) return false
    return true
  }

  function search(state: State, answeredTaken: number): boolean | undefined {
    if (answeredTaken === answeredCount) return true
    if (++steps > stepsMax) return undefined

    const key = `${[...taken].sort((a, b) => a - b).join()}|${model.keyOf(state)}`
    if (seen.has(key)) return false
    seen.add(key)

    const open = candidates()
    const next: { index: number; states: readonly State[] }[] = []
    for (const index of open) {
      const call = calls[index]!
      const all = model.apply(state, call.operation, call.answer)
      // Without an answer, no effect is as good as never.
      const states = call.answer === undefined ? all.filter((after) => after !== state) : all
      // It fits here and changes nothing: it may as well be here as anywhere later.
      if (call.answer !== undefined && states.length === 1 && states[0] === state) {
        next.splice(0, next.length, { index, states })
        break
      }
      if (states.length > 0) next.push({ index, states })
    }
    if (answeredTaken > longestAnswered) {
      longestAnswered = answeredTaken
      longest = {
        order: [...order],
        state,
        stuck: open.filter((index) => calls[index]!.answer !== undefined),
      }
    }

    // Answered calls first, the one that returned first before the others: most often it was so.
    next.sort((a, b) => urgency(a.index) - urgency(b.index))
    for (const { index, states } of next) {
      taken.add(index)
      order.push(index)
      for (const after of states) {
        const isAnswered = calls[index]!.answer !== undefined
        const found = search(after, answeredTaken + (isAnswered ? 1 : 0))
        if (found !== false) return found
      }
      order.pop()
      taken.delete(index)
    }
    return false
  }

  function urgency(index: number): number {
    const call = calls[index]!
    return call.answer === undefined ? Number.POSITIVE_INFINITY : call.returnedAt
  }

  const found = search(model.initial, 0)
  if (found === undefined) return { kind: 'undecided', steps }
  if (found) return { kind: 'linearisable', order: [...order], steps }
  return { kind: 'violation', ...longest, steps }
}
