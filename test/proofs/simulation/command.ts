import type { ConfigurationChange } from '../../../lambdas/engine/core/configuration.ts'
import type {
  BrowseRequest,
  HousekeepRequest,
  PopRequest,
  PushItem,
  PushRequest,
  SettleRequest,
} from '../../../lambdas/engine/queues.ts'

/** One call of a verb, as data: what the workload draws, the history shows and a writer performs. */
export type Command =
  | { readonly verb: 'push'; readonly queue: string; readonly request: PushRequest }
  | {
      readonly verb: 'pushTransactItem'
      readonly queue: string
      readonly item: PushItem
      /** Key of the caller's own row in the same transaction. */
      readonly businessRow: string
      /** The transaction is sent twice. */
      readonly again?: boolean
    }
  | { readonly verb: 'pop'; readonly queue: string; readonly request: PopRequest }
  | { readonly verb: 'acknowledge'; readonly queue: string; readonly request: SettleRequest }
  | {
      readonly verb: 'acknowledgeMany'
      readonly queue: string
      readonly lockIds: readonly string[]
    }
  | {
      readonly verb: 'extend'
      readonly queue: string
      readonly request: { readonly lockId: string; readonly ttlSeconds: number }
    }
  | { readonly verb: 'release'; readonly queue: string; readonly request: SettleRequest }
  | {
      readonly verb: 'deadLetter'
      readonly queue: string
      readonly request: SettleRequest & { readonly reason?: string }
    }
  | { readonly verb: 'inspect'; readonly queue: string; readonly consistent: boolean }
  | { readonly verb: 'browse'; readonly queue: string; readonly request: BrowseRequest }
  | { readonly verb: 'configuration'; readonly queue: string }
  | { readonly verb: 'configure'; readonly queue: string; readonly change: ConfigurationChange }
  | { readonly verb: 'purge'; readonly queue: string; readonly request: { priority?: number } }
  | { readonly verb: 'redrive'; readonly queue: string; readonly request: { limit?: number } }
  | { readonly verb: 'list'; readonly queue: '' }
  | { readonly verb: 'housekeep'; readonly queue: string; readonly request?: HousekeepRequest }
  | { readonly verb: 'returnExpiredLocks'; readonly queue: '' }
  | { readonly verb: 'announceWaiting'; readonly queue: '' }

export type Verb = Command['verb']
export type CommandOf<V extends Verb> = Extract<Command, { readonly verb: V }>
