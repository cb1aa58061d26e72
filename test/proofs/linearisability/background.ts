export type Background = {
  onBackgroundError(
    error: unknown,
    context: { readonly queue: string; readonly step: string },
  ): void
  /** Mistakes of the engine, which no other process explains. */
  readonly faults: string[]
  /** Steps that failed because another process was faster, or because a request was lost. */
  failed: number
}

/** Watches background work: most of its failures are allowed, and the engine tries again. */
export function watchBackground(onFault?: (text: string) => void): Background {
  const background: Background = {
    faults: [],
    failed: 0,
    onBackgroundError(error, { queue, step }) {
      if (!isMistake(error)) {
        background.failed += 1
        return
      }
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      background.faults.push(`${queue}: ${step}: ${text}`)
      onFault?.(text)
    },
  }
  return background
}

const isMistake = (error: unknown): boolean =>
  !(error instanceof Error) ||
  error instanceof TypeError ||
  error instanceof RangeError ||
  error instanceof ReferenceError ||
  error.name === 'ValidationException'
