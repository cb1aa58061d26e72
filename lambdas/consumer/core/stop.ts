export type Stop = {
  /** Take nothing more. */
  readonly stop: AbortSignal
  /** Do not wait for handlers any more. */
  readonly graceOver: AbortSignal
}

/** How the work ends: by the caller's signal, or because it failed. */
export type Stopping = Stop & {
  halt(): void
  /** Everything is settled: nothing listens any more. */
  over(): void
}

export function untilGrace(signal: AbortSignal | undefined, graceMs: number | undefined): Stopping {
  const stop = new AbortController()
  const graceOver = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const halt = () => {
    stop.abort()
    if (graceMs !== undefined) timer ??= setTimeout(() => graceOver.abort(), graceMs)
  }
  signal?.addEventListener('abort', halt)
  if (signal?.aborted) halt()
  return {
    stop: stop.signal,
    graceOver: graceOver.signal,
    halt,
    over() {
      signal?.removeEventListener('abort', halt)
      clearTimeout(timer)
    },
  }
}
