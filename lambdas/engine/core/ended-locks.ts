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

/** The id of a consumer's lock begins with a dot, which also separates two locks. */
const form = /(?:^|\.)(\.?[^.]{11})([axrdp])([0-9a-z]+)(?=\.|$)/g

/** `aB3dE5gH7jKa2s.…`: lock id, how it ended, and its items in base 36. */
export const encodeEnded = (ended: readonly EndedLock[]): string =>
  ended
    .map(({ lockId, ending, items }) => `${lockId}${endingCodes[ending]}${items.toString(36)}`)
    .join('.')

/** Skips entries that an older engine wrote for consumers' locks, which it could not read. */
export const decodeEnded = (stored: string): EndedLock[] =>
  [...stored.matchAll(form)].map(([, lockId = '', code = '', items = '']) => ({
    lockId,
    ending: endings[code] as Ending,
    items: Number.parseInt(items, 36),
  }))
