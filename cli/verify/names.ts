import { randomInt } from 'node:crypto'

/** All queues that this command ever makes begin so; it touches no others. */
export const PREFIX = 'pushpop-verify-'

const CHARACTERS = 6

/** Two runs at a time do not meet: there are two thousand million of these. */
export const randomName = (): string =>
  randomInt(36 ** CHARACTERS)
    .toString(36)
    .padStart(CHARACTERS, '0')

export const deadLetterQueueOf = (queue: string): string => `${queue}-deadletter`
