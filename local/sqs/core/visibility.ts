import type { Delivery, Message } from './message.ts'
import { invalidParameter, type SqsError } from './sqs-error.ts'

/** Twelve hours, counted from the receive. */
const INVISIBLE_MS_MAX = 43_200_000

export type VisibilityChange = {
  readonly handle: string
  readonly visibilityMs: number
  readonly isFifo: boolean
}

/**
 * The delivery of a message, with another end; throws where that may not be. A standard queue asks neither whether the
 * message is in flight nor for the last handle: AWS's takes any that it has ever given for the message.
 */
export function changedVisibility(
  message: Message | undefined,
  isInFlight: boolean,
  { handle, visibilityMs, isFifo }: VisibilityChange,
  nowMs: number,
): Delivery {
  if (!message) {
    const reason = 'Message does not exist or is not available for visibility timeout change.'
    throw invalidParameter('ReceiptHandle', handle, reason)
  }
  const { delivery } = message
  if (isFifo && (delivery.handle !== handle || !isInFlight)) throw expiredHandle(handle)
  const invisibleUntilMs = nowMs + visibilityMs
  if (invisibleUntilMs <= delivery.receivedAtMs + INVISIBLE_MS_MAX) {
    return { ...delivery, invisibleUntilMs }
  }
  const reason = 'Total VisibilityTimeout for the message is beyond the limit [43200 seconds]'
  throw invalidParameter('VisibilityTimeout', visibilityMs / 1000, reason)
}

export const expiredHandle = (handle: string): SqsError =>
  invalidParameter('ReceiptHandle', handle, 'The receipt handle has expired.')
