// What a verb's step sees, what it decides, and the outcome; `attempts.ts` does the rest.

import type { QueueError } from '../../shared/errors.ts'
import type { FencedChange } from '../core/fence.ts'
import type { QueueRecord, Stretch } from '../core/record.ts'
import type { Pass } from '../core/settings.ts'

/** A queue's record, and whether this call may conclude from it that there is nothing, or that it must refuse. */
export type Known = {
  readonly record: QueueRecord | undefined
  /**
   * This call has read the record, or got it with the answer to a write. Otherwise an earlier call remembered it, or
   * this call has met a sign that others have written since.
   */
  readonly isCurrent: boolean
}

/** What a step sees. */
export type View = Known & {
  readonly nowMs: number
  /** Counts from 1. */
  readonly attempt: number
  /** Races lost in a row. */
  readonly losses: number
  /** Of the queue's limit for such calls. */
  readonly pass: Pass
  /** The answer to an earlier sending was lost: it may have landed, or may still. */
  readonly inDoubt: boolean
}

export type Decision<T> =
  | { readonly kind: 'answer'; readonly answer: T }
  | {
      readonly kind: 'refuse'
      readonly error: QueueError
      /** Holds even for a write whose answer was lost: it has not landed and cannot land any more. */
      readonly isFinal?: boolean
    }
  | { readonly kind: 'look' }
  | {
      readonly kind: 'read'
      readonly stretches: readonly Stretch[]
      readonly bytesMax?: number
      readonly next: (entries: readonly string[]) => Decision<T>
      /** If nobody can read them now. Default: look again, and then refuse. */
      readonly orElse?: Decision<T>
    }
  | {
      readonly kind: 'write'
      readonly change: FencedChange
      /** What follows once the write has landed and left this record. */
      readonly landed: (record: QueueRecord) => Outcome<T> | Promise<Outcome<T>>
      /** Prepares for the verb's own work. Whether it lands or loses, it is not an attempt; it has its own bound. */
      readonly isExtra?: boolean
    }
  | {
      readonly kind: 'act'
      readonly act: () => Promise<Outcome<T>>
      /** As for a write. */
      readonly isExtra?: boolean
    }

/** What an attempt came to. */
export type Outcome<T> =
  | { readonly kind: 'done'; readonly answer: T }
  /** Another attempt, on this record. */
  | (Known & { readonly kind: 'again' })
  /** The same after a lost race: others are at work, so we pause first. */
  | (Known & { readonly kind: 'lost' })
  /** It did not happen and never will, not even if an earlier answer was lost. */
  | { readonly kind: 'refused'; readonly error: QueueError }
  /** The items are not where the record says. */
  | { readonly kind: 'missing'; readonly record: QueueRecord | undefined }
  /** The answer to a blind write was lost. Later steps may fail, but must never claim that nothing changed. */
  | {
      readonly kind: 'doubt'
      readonly cause: unknown
      /** Finds out whether it landed. */
      readonly settle: () => Promise<Outcome<T>>
    }

export const look: Decision<never> = { kind: 'look' }

export const answer = <T>(answer: T): Decision<T> => ({ kind: 'answer', answer })

export const refuse = (error: QueueError, isFinal = false): Decision<never> => ({
  kind: 'refuse',
  error,
  isFinal,
})

export const act = <T>(act: () => Promise<Outcome<T>>): Decision<T> => ({ kind: 'act', act })

/** A write that prepares for the verb's own work, and then another attempt on the record that it left. */
export const writeFirst = (
  change: FencedChange,
  landed: () => void = () => {},
): Decision<never> => ({
  kind: 'write',
  change,
  isExtra: true,
  landed(after) {
    landed()
    return again(asStored(after))
  },
})

export const done = <T>(answer: T): Outcome<T> => ({ kind: 'done', answer })

export const asStored = (record: QueueRecord | undefined): Known => ({ record, isCurrent: true })

export const again = ({ record, isCurrent }: Known): Outcome<never> => ({
  kind: 'again',
  record,
  isCurrent,
})

export const lost = ({ record, isCurrent }: Known): Outcome<never> => ({
  kind: 'lost',
  record,
  isCurrent,
})

export const doubt = <T>(cause: unknown, settle: () => Promise<Outcome<T>>): Outcome<T> => ({
  kind: 'doubt',
  cause,
  settle,
})
