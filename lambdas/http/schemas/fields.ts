// The fields that several calls share. Each has its own error sentence, because the library's would repeat the value.

import * as v from 'valibot'
import { PRIORITY_MAX } from '../../../engine/core/limits.ts'
import { PATTERNS_MAX } from '../../../rate/core/bounds.ts'
import { IDS_MAX } from '../../../shared/bounds.ts'
import { EPOCH_SECONDS_MAX } from '../../../shared/wire.ts'

export const integer = (min: number, max: number) => {
  const sentence = `must be an integer from ${min} to ${max}`
  return v.pipe(
    v.number(sentence),
    v.integer(sentence),
    v.minValue(min, sentence),
    v.maxValue(max, sentence),
  )
}

const sentence = 'must be a time in epoch seconds'

export const epochSeconds = () =>
  v.pipe(v.number(sentence), v.minValue(0, sentence), notMs(EPOCH_SECONDS_MAX))

export const wholeEpochSeconds = (max = EPOCH_SECONDS_MAX) => {
  const whole = 'must be a time in whole epoch seconds'
  return v.pipe(v.number(whole), v.integer(whole), v.minValue(0, whole), notMs(max))
}

/** Milliseconds would be a time in tens of thousands of years. */
const notMs = (max: number) =>
  v.maxValue<number, number, string>(max, `${sentence}: this looks like milliseconds`)

export const choice = <const C extends readonly string[]>(of: C) =>
  v.picklist(of, `must be ${of.map((one) => `"${one}"`).join(' or ')}`)

export const flag = () => v.boolean('must be true or false')

export const text = (min: number, max: number) => {
  const sentence = `must be well-formed text of ${min} to ${max} characters`
  return v.pipe(v.string(sentence), v.minLength(min, sentence), v.maxLength(max, sentence))
}

export const list = <S extends v.GenericSchema>(of: S, min: number, max: number, what: string) => {
  const sentence = `must be ${min} to ${max} ${what}`
  return v.pipe(v.array(of, sentence), v.minLength(min, sentence), v.maxLength(max, sentence))
}

/** All patterns of queues, or of rate limits. */
export const patternList = <S extends v.GenericSchema>(pattern: S) => {
  const sentence = `must be a list of at most ${PATTERNS_MAX} patterns`
  return v.pipe(v.array(pattern, sentence), v.maxLength(PATTERNS_MAX, sentence))
}

export const object = <E extends v.ObjectEntries>(entries: E, example = '') =>
  v.strictObject(
    entries,
    example === '' ? 'must be an object' : `must be an object such as ${example}`,
  )

export const nothing = object({})

export const described = <S extends v.GenericSchema>(schema: S, description: string) =>
  v.pipe(schema, v.description(description))

/** An optional field, and what the API page says about it. */
export const optional = <S extends v.GenericSchema>(schema: S, description: string) =>
  v.optional(described(schema, description))

export const priority = () => described(integer(0, PRIORITY_MAX), '0 is served first. Default 0.')

/** Our ids have 11 or 12 characters; a longer one cannot exist anyway. */
const LOCK_ID_CHARACTERS_MAX = 64
export const lockId = () =>
  described(text(1, LOCK_ID_CHARACTERS_MAX), 'The id of a lock, as the pop returned it.')

const ITEM_ID_CHARACTERS_MAX = 64
export const itemId = () => text(1, ITEM_ID_CHARACTERS_MAX)
export const itemIds = (description: string) =>
  described(list(itemId(), 1, IDS_MAX, 'item ids'), description)

export const lockedItemIds = () =>
  itemIds('Some of the lock’s items, by the ids that the pop returned. Default: all of them.')

export const ttlSeconds = () => {
  const sentence = 'must be an integer'
  return described(
    v.pipe(v.number(sentence), v.integer(sentence)),
    'How long the lock lives. Clamped to 1–300; the answer carries the value used.',
  )
}

/** The longest queue id: 100 characters and `-deadletter`. */
export const QUEUE_ID_CHARACTERS_MAX = 111

export const pageLimit = (max: number) =>
  described(integer(1, max), 'How many at most. Default 20.')

const CURSOR_CHARACTERS_MAX = 256
export const cursor = () =>
  described(text(1, CURSOR_CHARACTERS_MAX), 'Continues where an earlier page ended.')

export const count = (description: string) =>
  described(v.pipe(v.number(), v.integer(), v.minValue(0)), description)

export const items = () => described(v.array(v.any()), 'The items’ own JSON, byte for byte.')

export const time = (description: string) =>
  described(v.number(), `${description} Epoch seconds with a fraction.`)
