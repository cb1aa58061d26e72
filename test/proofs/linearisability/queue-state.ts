// What the modelled queue is asked, what it answers, and what it holds.

export type QueueOperation =
  | {
      readonly kind: 'push'
      readonly items: readonly PushedName[]
      readonly key?: string
    }
  | { readonly kind: 'cancel'; readonly name: string; readonly id: string }
  | {
      readonly kind: 'move'
      readonly name: string
      readonly id: string
      readonly priority: number
    }
  | {
      readonly kind: 'pop'
      readonly count: number
      readonly requireAck: boolean
      readonly competing: boolean
      readonly acknowledge?: string
      readonly key?: string
      /** The model's name for the lock if no answer gave its id. */
      readonly attempt: string
    }
  | {
      readonly kind: 'settle'
      readonly verb: SettleVerb
      readonly lockId: string
      /** Some of the lock's items; all without it. */
      readonly names?: readonly string[]
    }
  | { readonly kind: 'extend'; readonly lockId: string }
  | {
      readonly kind: 'purge'
      readonly priority?: number
      /** Items that came while it ran: it takes what it saw, so the last of them may survive. */
      readonly survivors?: ReadonlySet<string>
    }
  | { readonly kind: 'inspect' }
  | { readonly kind: 'browse'; readonly limit: number }
  /** Everything that went to the dead-letter queue, once housekeeping had the time for it. */
  | { readonly kind: 'dead-letters' }

/** `later`: it is scheduled, and joins within a second or so, or long after the history. Not with a key or a purge. */
export type PushedName = {
  readonly name: string
  readonly priority: number
  readonly later?: 'soon' | 'never'
}

export type SettleVerb = 'acknowledge' | 'release' | 'deadLetter'

export type QueueAnswer =
  | ByIdAnswer
  | { readonly kind: 'pushed'; readonly ids: readonly string[] }
  | {
      readonly kind: 'items'
      readonly items: readonly PoppedName[]
      readonly lock?: { readonly id: string; readonly expiresAtMs: number }
      readonly more: boolean
      readonly itemsAcknowledged?: number
    }
  | { readonly kind: 'empty'; readonly itemsAcknowledged?: number }
  | { readonly kind: 'locked'; readonly expiresAtMs: number }
  | { readonly kind: 'settled'; readonly items: number }
  | { readonly kind: 'extended'; readonly expiresAtMs: number }
  | { readonly kind: 'purged'; readonly items: number }
  | {
      readonly kind: 'state'
      readonly count: number
      readonly scheduledCount: number
      readonly lockedCount: number
      /** Lanes with something in them, by priority. */
      readonly lanes: readonly { readonly priority: number; readonly count: number }[]
      readonly locks: readonly { readonly expiresAtMs: number; readonly count: number }[]
    }
  | {
      readonly kind: 'page'
      readonly items: readonly (PoppedName & {
        readonly state: 'ready' | 'locked' | 'waiting' | 'expired'
      })[]
      /** There is another page. */
      readonly more: boolean
    }
  | { readonly kind: 'dead'; readonly names: readonly string[] }
  | { readonly kind: 'refused'; readonly code: string }

type ByIdAnswer =
  | { readonly kind: 'by-id'; readonly result: 'cancelled' | 'locked' | 'gone' }
  | { readonly kind: 'moved'; readonly newId?: string }

export type PoppedName = {
  readonly name: string
  readonly id: string
  readonly priority: number
  readonly deliveries: number
}

export type QueueState = {
  /** By priority, none of them empty; items in order, locked ones where they always were. */
  readonly lanes: readonly Lane[]
  readonly scheduled: readonly ScheduledName[]
  readonly locks: readonly Lock[]
  readonly ended: readonly Ended[]
  /** Names of the dead, by name. */
  readonly dead: readonly string[]
  /** Keys of the pushes that took effect. */
  readonly keys: readonly { readonly key: string; readonly ids: readonly string[] | undefined }[]
}

export type Lane = { readonly priority: number; readonly items: readonly ModelItem[] }
export type Lock = {
  readonly id: string
  readonly expiresAtMs: number | undefined
  readonly key: string | undefined
}
export type Ending = 'acknowledge' | 'release' | 'deadLetter' | 'purge'
/** `items` is the answer to a repeat; unknown if the lock was settled bit by bit. */
export type Ended = {
  readonly id: string
  readonly ending: Ending
  readonly items: number | undefined
}

export type ModelItem = {
  readonly name: string
  /** Unknown until an answer tells it. */
  readonly id: string | undefined
  /** Ids that it had before it joined or was moved. */
  readonly former: readonly string[]
  /** How often it came back. */
  readonly returned: number
  readonly lockId: string | undefined
}

export type ScheduledName = Pick<ModelItem, 'name' | 'id' | 'former'> & {
  readonly priority: number
  readonly isSoon: boolean
}
