import { ITEMS_PER_PUSH_MAX, PUSH_BYTES_MAX } from '../bounds.ts'
import { type Names, refuseUnknown } from '../known-options.ts'
import type { Batching } from './line.ts'

export type LingerOptions = {
  /**
   * How long a push waits for others before they go together, 0–10,000. Default 0: no push waits, but pushes
   * that come while a batch is under way form the next one.
   */
  readonly waitMs?: number | undefined
  /** Items with which a batch goes at once, 1–1,000. Default 1,000. */
  readonly itemsMax?: number | undefined
  /** Bytes of items with which a batch goes at once, up to 2.5 MB. Default 1 MiB. */
  readonly bytesMax?: number | undefined
}

const names: Names<LingerOptions> = { waitMs: 0, itemsMax: 0, bytesMax: 0 }

/** A caller that can wait longer should collect a list and push it in bulk. */
const WAIT_MS_MAX = 10_000
/** A larger batch costs no less per item, and all of its calls wait for the last byte. */
const BYTES_DEFAULT = 1024 * 1024
/** The body of a bulk push has a few characters around its items. */
const BYTES_MAX = PUSH_BYTES_MAX - 64

/** The options with their defaults; undefined if pushes do not linger. */
export function batchingOf(linger: boolean | LingerOptions | undefined): Batching | undefined {
  if (linger === undefined || linger === false) return undefined
  const options = linger === true ? {} : linger
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`Cannot use ${String(linger)} as linger: say true, or { waitMs: 5 }`)
  }
  refuseUnknown(options, names)
  const within = (name: keyof LingerOptions, unset: number, least: number, most: number) => {
    const value = options[name] ?? unset
    if (typeof value === 'number' && value >= least && value <= most) return value
    throw new TypeError(`linger.${name} must be ${least} to ${most}, and is ${String(value)}`)
  }
  return {
    waitMs: within('waitMs', 0, 0, WAIT_MS_MAX),
    itemsMax: within('itemsMax', ITEMS_PER_PUSH_MAX, 1, ITEMS_PER_PUSH_MAX),
    bytesMax: within('bytesMax', BYTES_DEFAULT, 1, BYTES_MAX),
  }
}
