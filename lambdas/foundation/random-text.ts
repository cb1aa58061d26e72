/** 64 characters that keys, ids and entries may contain; none of them separates their parts. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_~'

export function randomText(random: () => number, characters: number): string {
  let text = ''
  for (let i = 0; i < characters; i += 1) text += ALPHABET[Math.floor(random() * 64)]
  return text
}

/** Begins the id of a lock that a consumer's run holds. No other id has this character. */
export const CONSUMERS_LOCK = '.'

/**
 * The first characters of the ids of locks in which items wait for their retry (`core/retry.ts`): other items wait
 * behind the first kind, and pass the second. No other id has these characters, and no such id leaves the engine.
 */
export const RETRY_LOCK = '~'
export const OVERTAKEN_LOCK = '!'

/** As long as other ids, among which engines that do not know this kind remember it. */
export const randomRetryLockId = (random: () => number, overtake: boolean): string =>
  `${overtake ? OVERTAKEN_LOCK : RETRY_LOCK}${randomLockId(random).slice(1)}`

/** A lock id: 8 random bytes as 11 characters of URL-safe base64, for a consumer behind its sign. */
export function randomLockId(random: () => number, forConsumer = false): string {
  const bytes = Buffer.alloc(8)
  for (let i = 0; i < 8; i += 1) bytes[i] = Math.floor(random() * 256)
  return `${forConsumer ? CONSUMERS_LOCK : ''}${bytes.toString('base64url')}`
}
