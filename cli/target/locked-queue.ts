import { exitCodes } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { clockTime } from '../terminal/amounts.ts'

/** Somebody else's lock, or a delay: what a pop meets on a queue that is worked exclusively. */
export const queueLocked = (command: string, queue: string, expiresAtMs: number): Failure =>
  new Failure(
    exitCodes.refused,
    `Cannot ${command} ${queue} because it is locked, or waits for items that come again, until ` +
      `${clockTime(expiresAtMs)}; wait, or take what is free with --competing`,
    { code: 'QUEUE_LOCKED' },
  )
