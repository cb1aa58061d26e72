import { QueueError } from '../foundation/errors.ts'
import { failureOf } from '../foundation/outcome.ts'
import { type Clock, type Random, secureRandom, systemClock } from '../foundation/system.ts'
import type { Inbox } from '../http/endpoints/push.ts'
import { checkTimesOf, type Message, messageOf } from './message.ts'

/** The one request that sends to SQS. */
export type SendPort = { send(message: Message): Promise<{ readonly messageId: string }> }

type Edge = { readonly clock?: Clock; readonly random?: Random }

/** Answers take 3 s at most, and pauses up to 0.1 and 0.4 s: this fits into the time of a call. */
const ATTEMPTS_MAX = 3
const PAUSE_FIRST_MS = 100
/** SQS drops copies for five minutes: a process that was frozen for longer would push twice. */
const COPIES_UNTIL_MS = 240_000

/** The inbox as a push sees it. It does not touch the table, so it goes on accepting during an outage there. */
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
 * Makes one message, however often we send it: for five minutes, SQS drops copies with the same deduplication id. So
 * we may send it again after a lost answer, and say "unknown" only if no attempt is left.
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
