/**
 * An error for the console. What a request met has a code, and its message says it all; a loop that tries again
 * would fill the console with its fields and with stacks of ours. A handler's error is shown whole.
 */
export function inShort(kind: string, error: unknown): unknown {
  const isRefusal = error instanceof Error && 'code' in error && 'retryable' in error
  return isRefusal && kind !== 'handler' ? `${error.message} (${String(error.code)})` : error
}
