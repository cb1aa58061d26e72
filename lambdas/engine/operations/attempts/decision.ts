import type { QueueError } from '../../../foundation/errors.ts'
import type { FencedChange } from '../../core/fence.ts'
import type { QueueRecord, Stretch } from '../../core/record.ts'

// What the step of a verb sees, what it decides, and what comes of it; `attempts.ts` does the rest.

/** What a step sees. */
export type View = {
  readonly record: QueueRecord | undefined
  /** Read in this call, or handed over by a refusal; not remembered from an earlier one. */
  readonly isCurrent: boolean
  readonly nowMs: number
  /** Counts from 1. */
  readonly attempt: number
  /** Races lost in a row. */
  readonly losses: number
  /** This call took a slot of the queue's limit. */
  readonly admitted: boolean
  /** The answer to an earlier sending was lost: it may have landed, or may still. */
  readonly inDoubt: boolean
}

export type Decision<T> =
  | { readonly kind: 'answer'; readonly answer: T }
  | {
      readonly kind: 'refuse'
      readonly error: QueueError
      /** True even of a write whose answer was lost: it can neither have landed nor land any more. */
      readonly isFinal?: boolean
    }
  | { readonly kind: 'look' }
  | {
      readonly kind: 'read'
      readonly stretches: readonly Stretch[]
      readonly bytesMax?: number
      readonly next: (entries: readonly string[]) => Decision<T>
    }
  | {
      readonly kind: 'write'
      readonly change: FencedChange
      /** What it means that the write landed, and left this record. */
      readonly landed: (record: QueueRecord) => Outcome<T> | Promise<Outcome<T>>
      /** Comes before the verb's own work: landed or lost, it is not an attempt, and has its own bound. */
      readonly isExtra?: boolean
    }
  | {
      readonly kind: 'act'
      readonly act: () => Promise<Outcome<T>>
      /** As of a write. */
      readonly isExtra?: boolean
    }

/** What an attempt came to. */
export type Outcome<T> =
  | { readonly kind: 'done'; readonly answer: T }
  /** Another attempt, on this record. */
  | { readonly kind: 'again'; readonly record: QueueRecord | undefined }
  /** The same, after a lost race: others are at work, so there is a pause before it. */
  | { readonly kind: 'lost'; readonly record: QueueRecord | undefined }
  /** It did not happen, and never will: not even where an earlier answer was lost. */
  | { readonly kind: 'refused'; readonly error: QueueError }
  /** The items are not where the record says. */
  | { readonly kind: 'missing'; readonly record: QueueRecord | undefined }
  /** The answer to a blind write was lost. What follows may fail: but never say that nothing changed. */
  | {
      readonly kind: 'doubt'
      readonly cause: unknown
      /** Looks whether it landed. */
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

export const done = <T>(answer: T): Outcome<T> => ({ kind: 'done', answer })
export const again = (record: QueueRecord | undefined): Outcome<never> => ({
  kind: 'again',
  record,
})
export const lost = (record: QueueRecord | undefined): Outcome<never> => ({ kind: 'lost', record })
export const doubt = <T>(cause: unknown, settle: () => Promise<Outcome<T>>): Outcome<T> => ({
  kind: 'doubt',
  cause,
  settle,
})
