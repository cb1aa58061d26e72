/** What an error of the engine says. */
export type Failure =
  /** Nothing happened. */
  | { readonly kind: 'refused'; readonly code: string }
  /** The call may have taken effect, or may yet. */
  | { readonly kind: 'unknown' }
  /** Not one of its own errors: always a mistake. */
  | { readonly kind: 'fault'; readonly text: string }

/** By name and not by class: the engine may come from another folder. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { kind: 'fault', text: String(error) }
  if (error.name !== 'QueueError') return { kind: 'fault', text: error.stack ?? error.message }
  const { code, outcome } = error as Error & { code: string; outcome?: 'unknown' }
  return outcome === 'unknown' ? { kind: 'unknown' } : { kind: 'refused', code }
}
