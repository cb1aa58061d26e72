import type { ConfigurationChange } from '../../client/index.ts'
import type { Configuration } from '../../engine/core/settings.ts'
import type { Pushed, PushRequest, QueueState, Queues } from '../../engine/queues.ts'

/**
 * What commands talk to: the engine's own verbs, over HTTP or directly on the table. Items are JSON text both
 * ways, so that draining and importing an item again leaves it the same, byte for byte.
 */
export type Target = Pick<
  Queues,
  | 'pop'
  | 'acknowledge'
  | 'acknowledgeMany'
  | 'extend'
  | 'release'
  | 'browse'
  | 'scheduled'
  | 'cancel'
  | 'move'
  | 'purge'
  | 'redrive'
> & {
  /** `respondAsync`: pushes into the service's inbox, or into the queue if the service has no inbox. */
  push(
    queue: string,
    request: PushRequest & { readonly respondAsync?: boolean },
  ): Promise<PushedOrAccepted>
  configuration(queue: string): Promise<Configured>
  /** With a tag: only if the configuration still has it. */
  configure(
    queue: string,
    change: ConfigurationChange,
    ifMatch: string | undefined,
  ): Promise<Configured>
  /** Takes the queue's own settings away; answers what applies then. */
  unconfigure(queue: string, ifMatch: string | undefined): Promise<Configured>
  inspect(queue: string, request?: { readonly oldest?: boolean }): Promise<State>
  /** All queues that begin with `prefix`, in order. A queue has no count if its record could not be read just now. */
  queues(request: {
    readonly prefix?: string | undefined
    readonly detail?: boolean | undefined
  }): AsyncIterable<Listed>
  /** For messages: the address or the table. */
  readonly name: string
  /** How it was named on the command line, for a line to copy: `` or ` --table t --bucket b`. */
  readonly asTyped: string
  close(): void
}

/** With the id of the message, if the push went to the inbox. */
export type PushedOrAccepted = Pushed & { readonly messageId?: string }

/** Settings that apply, and the tag of their revision without its quotes. */
export type Configured = { readonly settings: Configuration; readonly etag: string }

export type Listed = {
  readonly queue: string
  readonly count?: number
  /** With `detail`. */
  readonly scheduledCount?: number
}

export type State = Omit<QueueState, 'configuration' | 'etag'>
