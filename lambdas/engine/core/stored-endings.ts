import type { EndedLock, Ending } from './record.ts'

const endingCodes: Readonly<Record<Ending, string>> = {
  acknowledged: 'a',
  expired: 'x',
  released: 'r',
  'dead-lettered': 'd',
  purged: 'p',
}
const endings = Object.fromEntries(
  Object.entries(endingCodes).map(([ending, code]) => [code, ending as Ending]),
)
const LOCK_ID_CHARACTERS = 11

/** `aB3dE5gH7jKa2s.…`: lock id, how it ended, and its items in base 36. */
export const encodeEnded = (ended: readonly EndedLock[]): string =>
  ended
    .map(({ lockId, ending, items }) => `${lockId}${endingCodes[ending]}${items.toString(36)}`)
    .join('.')

export function decodeEnded(stored: string): EndedLock[] {
  if (stored === '') return []
  return stored.split('.').map((text) => ({
    lockId: text.slice(0, LOCK_ID_CHARACTERS),
    ending: endings[text[LOCK_ID_CHARACTERS] as string] as Ending,
    items: Number.parseInt(text.slice(LOCK_ID_CHARACTERS + 1), 36),
  }))
}
