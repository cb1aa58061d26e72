import type { QueueState, Queues } from '../../lambdas/engine/queues.ts'

/**
 * What commands talk to: the engine's own verbs, over HTTP or on the table itself. Items are JSON
 * text on both ways, so that what is drained and imported again is what it was, byte for byte.
 */
export type Target = Pick<
  Queues,
  | 'push'
  | 'pop'
  | 'acknowledge'
  | 'acknowledgeMany'
  | 'extend'
  | 'release'
  | 'browse'
  | 'purge'
  | 'redrive'
> & {
  inspect(queue: string, request?: { readonly oldest?: boolean }): Promise<State>
  /** Ids of all queues that begin with `prefix`, in order. */
  queues(request: { readonly prefix: string | undefined }): AsyncIterable<string>
  /** For messages: the address or the table. */
  readonly name: string
  /** How it was named on the command line, for a line to copy: `` or ` --table t --bucket b`. */
  readonly asTyped: string
  close(): void
}

export type State = Omit<QueueState, 'configuration' | 'etag'>
