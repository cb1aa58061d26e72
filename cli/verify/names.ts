import { randomInt } from 'node:crypto'

/** The beginning of every queue id that this command uses; it touches no others. */
export const PREFIX = 'pushpop-verify-'

const CHARACTERS = 6

/** One of two thousand million, so that two runs do not meet. */
export const randomName = (): string =>
  randomInt(36 ** CHARACTERS)
    .toString(36)
    .padStart(CHARACTERS, '0')

export const deadLetterQueueOf = (queue: string): string => `${queue}-deadletter`
