type Stacked = {
  middlewareStack?: {
    add(middleware: (next: unknown) => unknown, options: Record<string, unknown>): void
  }
}

/**
 * The SDK repeats a request after a timeout or a reset connection, when its first sending may have
 * happened or may still: for an append that is a second copy. So its retry is taken out of every
 * command, whatever the caller's client is set to, and `dynamo.ts` repeats what is definite.
 */
export function withoutSdkRetry<T extends object>(command: T): T {
  const { middlewareStack } = command as Stacked
  middlewareStack?.add((next) => next, {
    name: 'retryMiddleware',
    tags: ['RETRY'],
    step: 'finalizeRequest',
    priority: 'high',
    override: true,
  })
  return command
}
