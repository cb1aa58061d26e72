import type { HousekeepRequest, PushItem, Queues } from '../../../lambdas/engine/queues.ts'

/** Verbs that ask something of one queue. */
type QueueVerb =
  | 'push'
  | 'pop'
  | 'acknowledge'
  | 'acknowledgeMany'
  | 'extend'
  | 'release'
  | 'deadLetter'
  | 'inspect'
  | 'browse'
  | 'configure'
  | 'purge'
  | 'redrive'

/** Verbs that a queue's name is enough for. */
type PlainVerb = 'configuration'

/** Verbs about all queues: `queue` is empty. */
type ServiceVerb = 'list' | 'returnExpiredLocks' | 'announceWaiting'

type TransactCommand = {
  readonly verb: 'pushTransactItem'
  readonly queue: string
  readonly item: PushItem
  /** Key of the caller's own row in the same transaction. */
  readonly businessRow: string
  /** The transaction is sent twice. */
  readonly again?: boolean
}

type HousekeepCommand = {
  readonly verb: 'housekeep'
  readonly queue: string
  readonly request?: HousekeepRequest
}

export type Verb =
  | QueueVerb
  | PlainVerb
  | ServiceVerb
  | TransactCommand['verb']
  | HousekeepCommand['verb']

export type CommandOf<V extends Verb> = V extends QueueVerb
  ? {
      readonly verb: V
      readonly queue: string
      readonly request: NonNullable<Parameters<Queues[V]>[1]>
    }
  : V extends PlainVerb
    ? { readonly verb: V; readonly queue: string }
    : V extends ServiceVerb
      ? { readonly verb: V; readonly queue: '' }
      : V extends 'housekeep'
        ? HousekeepCommand
        : TransactCommand

/** One call of a verb, as data: what the workload draws, the history shows and a writer performs. */
export type Command = { [V in Verb]: CommandOf<V> }[Verb]
