// Sends a batch. If it is refused for what may be the fault of some of its calls alone, it goes again in
// halves, in order, until every call has an answer that is its own.

import type { Load } from './line.ts'

/**
 * Whom a refusal concerns. `all`: every call alike. `some`: perhaps only some of them. `larger`: it also
 * refuses each call that brings as many items as one that it refused alone.
 */
export type Blame = 'all' | 'some' | 'larger'

const some = new Set([
  'TOO_MANY_PRIORITIES',
  'BODY_TOO_LARGE',
  'ITEM_TOO_LARGE',
  'INVALID_ITEM',
  'INVALID_PRIORITY',
  // Of times: wrong by themselves, or too many together.
  'INVALID_PARAMETER',
  'INVALID_JSON',
  'UNKNOWN_FIELD',
])

/** By the code of an error, in the engine's words and the service's. */
export function blameOf({
  code,
  outcome,
}: {
  code: string
  outcome?: 'unknown' | undefined
}): Blame {
  // It may have been pushed: a second copy could double it.
  if (outcome === 'unknown') return 'all'
  if (code === 'QUEUE_FULL') return 'larger'
  return some.has(code) ? 'some' : 'all'
}

export type Outcome<A> =
  | { readonly kind: 'answer'; readonly answer: A }
  | { readonly kind: 'error'; readonly error: unknown }

type Delivery<C, A> = {
  /**
   * One outcome for each call; what it throws is told to all of them. `isPatient`: nobody is helped if a
   * refusal comes sooner, so it may be asked again first.
   */
  send(calls: readonly C[], isPatient: boolean): Promise<readonly Outcome<A>[]>
  blame(error: unknown): Blame
  /** Its caller has not given up. */
  isWanted(call: C): boolean
  tell(call: C, outcome: Outcome<A>): void
}

/** Never rejects. */
export async function deliver<C extends { readonly load: Load }, A>(
  calls: readonly C[],
  { send, blame, isWanted, tell }: Delivery<C, A>,
): Promise<void> {
  // The last part is the next one.
  let parts: (readonly C[])[] = [calls]
  let refused: { readonly items: number; readonly outcome: Outcome<A> } | undefined
  let isPatient = true
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    const asking: C[] = []
    for (const call of part.filter(isWanted)) {
      if (refused !== undefined && call.load.items >= refused.items) tell(call, refused.outcome)
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
      // The others need not wait as long again to hear the same.
      if (whom !== 'all') isPatient = false
      // A store that is away would keep each part waiting: what is left goes as one.
      else parts = [parts.reverse().flat()]
    }
  }
}
