/** The result of one attempt to read, decide and write. */
export type Attempted<T> =
  | { readonly kind: 'done'; readonly answer: T }
  /** Another writer was first, or the answer was lost. */
  | { readonly kind: 'again' }
  /** It sent nothing, and does not count. */
  | { readonly kind: 'stepped-back' }

export const done = <T>(answer: T): Attempted<T> => ({ kind: 'done', answer })

/** One attempt after the other until one is done; the rate limiter's counterpart of the queues' driver. */
export async function attempts<T>(
  attemptsMax: number,
  tryOnce: (attempt: number) => Promise<Attempted<T>>,
  exhausted: () => Error,
): Promise<T> {
  for (let attempt = 1; attempt <= attemptsMax; ) {
    const attempted = await tryOnce(attempt)
    if (attempted.kind === 'done') return attempted.answer
    if (attempted.kind === 'again') attempt += 1
  }
  throw exhausted()
}
