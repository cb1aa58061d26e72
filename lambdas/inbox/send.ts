import { QueueError } from '../foundation/errors.ts'
import { failureOf } from '../foundation/outcome.ts'
import { type Clock, type Random, secureRandom, systemClock } from '../foundation/system.ts'
import type { Inbox } from '../http/endpoints/push.ts'
import { checkTimesOf, type Message, messageOf } from './message.ts'

/** The one request of SQS that sends. */
export type SendPort = { send(message: Message): Promise<{ readonly messageId: string }> }

type Edge = { readonly clock?: Clock; readonly random?: Random }

/** With answers that take 3 s at most and pauses of up to 0.1 and 0.4 s: within the time of a call. */
const ATTEMPTS_MAX = 3
const PAUSE_FIRST_MS = 100
/** SQS drops a copy for five minutes: a process that was frozen for longer would double the push. */
const COPIES_UNTIL_MS = 240_000

/** The inbox as a push knows it. It does not touch the table: while that is away, it goes on accepting. */
export const inboxOn = (
  port: SendPort,
  { clock = systemClock, random = secureRandom }: Edge = {},
): Inbox => ({
  async send(queue, request) {
    checkTimesOf(request, clock.nowMs())
    return sendOnce(port, messageOf(queue, request, random), clock, random)
  },
})

/**
 * One message, however often it is sent: SQS drops what has the same deduplication id for five minutes. So
 * it may be sent again after a lost answer, and only the last word may be that nobody knows.
 */
async function sendOnce(port: SendPort, message: Message, clock: Clock, random: Random) {
  let isOpen = false
  const untilMs = clock.nowMs() + COPIES_UNTIL_MS
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await port.send(message)
    } catch (error) {
      const failure = failureOf(error)
      isOpen ||= failure === 'unknown'
      const mayPass = failure === 'unknown' || failure === 'throttled' || failure === 'unsent'
      if (!mayPass && !isOpen) throw error
      if (!mayPass || attempt === ATTEMPTS_MAX) throw notSent(isOpen, error)
      await clock.sleep(PAUSE_FIRST_MS * 4 ** (attempt - 1) * random())
      if (isOpen && clock.nowMs() >= untilMs) throw notSent(isOpen, error)
    }
  }
}

const notSent = (isOpen: boolean, cause: unknown): QueueError =>
  isOpen
    ? new QueueError(
        'STORE_UNAVAILABLE',
        'Cannot tell whether the inbox has this push, because its answer was lost',
        { outcome: 'unknown', cause },
      )
    : new QueueError(
        'STORE_UNAVAILABLE',
        'The inbox is busy or out of reach; nothing was accepted, try again in a moment',
        { cause },
      )
