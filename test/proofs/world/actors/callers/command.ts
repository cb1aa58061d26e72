import type { PushItem, QueuePatternInput, Queues } from '../../../../../engine/queues.ts'

/** Verbs that ask something of one queue. */
// biome-ignore format: a table
type QueueVerb =
  | 'push' | 'pop' | 'acknowledge' | 'acknowledgeMany' | 'extend' | 'release' | 'deadLetter'
  | 'inspect' | 'browse' | 'scheduled' | 'configure' | 'unconfigure' | 'cancel' | 'move' | 'purge' | 'redrive'

/** Verbs that a queue's name is enough for. */
type PlainVerb = 'configuration' | 'housekeep'

/** Verbs about all queues: `queue` is empty. */
type ServiceVerb = 'list' | 'returnExpiredLocks' | 'wake' | 'announceWaiting'

// biome-ignore format: a table
export type PlainCallVerb =
  | 'apply' | 'putSchedule' | 'deleteSchedule' | 'pauseSchedule' | 'resumeSchedule' | 'runSchedule'
  | 'deploySchedules' | 'deployPatterns'

type QueueCommand<V extends QueueVerb> = {
  readonly verb: V
  readonly queue: string
  readonly request: NonNullable<Parameters<Queues[V]>[1]>
  /** Of a pop that waits. */
  readonly cancelAfterMs?: number
  /** Of a page: the last item of the one before. */
  readonly afterId?: string
}

type PlainCommand<V extends PlainVerb> = {
  readonly verb: V
  readonly queue: string
  readonly request?: Parameters<Queues[V]>[1]
}

type ServiceCommand<V extends ServiceVerb> = {
  readonly verb: V
  readonly queue: ''
  readonly request?: Parameters<Queues[V]>[0]
}

/** A call of another part of the interface, with its arguments as they are. */
type PlainCall<V extends PlainCallVerb> = {
  readonly verb: V
  readonly queue: string
  readonly rest: readonly unknown[]
  /** The pushes that it may bring, each with its items. */
  readonly pushes?: readonly (readonly PushItem[])[]
}

/** One call of a verb, as data: what the workload draws, the history shows and a writer performs. */
export type Command =
  | { [V in QueueVerb]: QueueCommand<V> }[QueueVerb]
  | { [V in PlainVerb]: PlainCommand<V> }[PlainVerb]
  | { [V in ServiceVerb]: ServiceCommand<V> }[ServiceVerb]
  | { [V in PlainCallVerb]: PlainCall<V> }[PlainCallVerb]
  | {
      readonly verb: 'pushTransactItem'
      readonly queue: string
      readonly item: PushItem
      /** Key of the caller's own row in the same transaction. */
      readonly businessRow: string
      /** The transaction is sent twice. */
      readonly again?: boolean
    }
  | {
      /** The loop around it: the caller's own part may refuse, before or as it is sent. */
      readonly verb: 'transact'
      readonly queue: string
      readonly items: readonly PushItem[]
      readonly businessRow: string
      readonly own: 'passes' | 'refuses' | 'throws'
    }
  | {
      readonly verb: 'configurePatterns'
      readonly queue: ''
      readonly patterns: readonly QueuePatternInput[]
      readonly request: { readonly ifMatch?: number }
    }

export type Verb = Command['verb']

export type CommandOf<V extends Verb> = Extract<Command, { readonly verb: V }>

/** The locks that a call is about, by their ids. */
export function locksNamedBy(command: Command | undefined): readonly (string | undefined)[] {
  if (command?.verb === 'acknowledgeMany') return command.request
  if (command?.verb === 'pop') return [command.request.acknowledge]
  const isOne = /^(acknowledge|release|deadLetter|extend)$/.test(command?.verb ?? '')
  return isOne ? [(command as CommandOf<'acknowledge'>).request.lockId] : []
}
