type Stacked = {
  middlewareStack?: {
    add(middleware: (next: unknown) => unknown, options: Record<string, unknown>): void
  }
}

/**
 * The SDK repeats a request after a timeout or a reset connection, although the first one may have been
 * carried out or still may be: an append would then be there twice. So we take the retry out of every
 * command, however the caller's client is configured, and `dynamo.ts` repeats only requests that certainly
 * changed nothing.
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
