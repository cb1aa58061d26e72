// Sends a batch. If it is refused for a reason that may lie with only some of its calls, it sends the batch again
// in halves, in order, until every call has its own answer.

import type { Load } from './line.ts'

/**
 * Which calls a refusal concerns. `all`: every call alike. `some`: perhaps only some of them. `larger`: also
 * every call that needs room for at least as many items as one brought that was refused alone.
 */
export type Blame = 'all' | 'some' | 'larger'

const some = new Set([
  'TOO_MANY_PRIORITIES',
  'BODY_TOO_LARGE',
  'ITEM_TOO_LARGE',
  'INVALID_ITEM',
  'INVALID_PRIORITY',
  // For times: one may be wrong by itself, or there may be too many together.
  'INVALID_PARAMETER',
  'INVALID_JSON',
  'UNKNOWN_FIELD',
])

/** Goes by the error's code, which the engine and the service share. */
export function blameOf({
  code,
  outcome,
}: {
  code: string
  outcome?: 'unknown' | undefined
}): Blame {
  // The items may have been pushed: a second request could push them twice.
  if (outcome === 'unknown') return 'all'
  if (code === 'QUEUE_FULL') return 'larger'
  return some.has(code) ? 'some' : 'all'
}

export type Outcome<A> =
  | { readonly kind: 'answer'; readonly answer: A }
  | { readonly kind: 'error'; readonly error: unknown }

type Delivery<C, A> = {
  /**
   * Returns one outcome for each call; if it throws, all of them get the error. `isPatient`: a quick refusal
   * helps nobody, so it may try again first.
   */
  send(calls: readonly C[], isPatient: boolean): Promise<readonly Outcome<A>[]>
  blame(error: unknown): Blame
  /** Whether its caller still waits. */
  isWanted(call: C): boolean
  tell(call: C, outcome: Outcome<A>): void
}

/** Never rejects. */
export async function deliver<C extends { readonly load: Load }, A>(
  calls: readonly C[],
  { send, blame, isWanted, tell }: Delivery<C, A>,
): Promise<void> {
  // We take the next part from the end.
  let parts: (readonly C[])[] = [calls]
  let refused: { readonly items: number; readonly outcome: Outcome<A> } | undefined
  let isPatient = true
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    const asking: C[] = []
    for (const call of part.filter(isWanted)) {
      const { items, itemsNow = items } = call.load
      if (refused !== undefined && itemsNow >= refused.items) tell(call, refused.outcome)
      else asking.push(call)
    }
    if (asking.length === 0) continue
    const isLone = asking.length === 1
    try {
      const outcomes = await send(asking, isPatient && isLone)
      for (const [index, call] of asking.entries()) tell(call, outcomes[index] as Outcome<A>)
    } catch (error) {
      const whom = blame(error)
      if (whom !== 'all' && !isLone) {
        const half = Math.ceil(asking.length / 2)
        parts.push(asking.slice(half), asking.slice(0, half))
        continue
      }
      const outcome = { kind: 'error', error } as const
      for (const call of asking) tell(call, outcome)
      if (whom === 'larger') refused = { items: asking[0]?.load.items ?? 0, outcome }
      // The others need not wait just as long for the same refusal.
      if (whom !== 'all') isPatient = false
      // If the store is out of reach, each part would have to wait for it: send the rest as one.
      else parts = [parts.reverse().flat()]
    }
  }
}
