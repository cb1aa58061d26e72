// The fields that several calls share. Each has its own sentence for what is wrong with it: the
// library's would repeat the value.

import * as v from 'valibot'
import { PRIORITY_MAX } from '../../engine/core/limits.ts'
import { IDS_MAX } from '../../engine/core/partial.ts'

export const integer = (min: number, max: number) => {
  const sentence = `must be an integer from ${min} to ${max}`
  return v.pipe(
    v.number(sentence),
    v.integer(sentence),
    v.minValue(min, sentence),
    v.maxValue(max, sentence),
  )
}

export const flag = () => v.boolean('must be true or false')

export const text = (min: number, max: number) => {
  const sentence = `must be text of ${min} to ${max} characters`
  return v.pipe(v.string(sentence), v.minLength(min, sentence), v.maxLength(max, sentence))
}

export const object = <E extends v.ObjectEntries>(entries: E) =>
  v.strictObject(entries, 'must be an object')

export const nothing = object({})

export const priority = () =>
  v.pipe(integer(0, PRIORITY_MAX), v.description('0 is served first. Default 0.'))

/** Ours have 11 characters; whatever else is asked for is not there, and need not be long. */
const LOCK_ID_CHARACTERS_MAX = 64
export const lockId = () =>
  v.pipe(text(1, LOCK_ID_CHARACTERS_MAX), v.description('The id of a lock, as the pop gave it.'))

const ITEM_ID_CHARACTERS_MAX = 64
export const itemIds = () => {
  const sentence = `must be 1 to ${IDS_MAX} item ids`
  return v.pipe(
    v.array(text(1, ITEM_ID_CHARACTERS_MAX), sentence),
    v.minLength(1, sentence),
    v.maxLength(IDS_MAX, sentence),
    v.description('Some of the lock’s items, by the ids the pop gave. Default: all of them.'),
  )
}

export const ttlSeconds = () => {
  const sentence = 'must be an integer'
  return v.pipe(
    v.number(sentence),
    v.integer(sentence),
    v.description('How long the lock lives. Clamped to 1–300; the answer carries the value used.'),
  )
}

export const pageLimit = (max: number) =>
  v.pipe(integer(1, max), v.description('How many at most. Default 20.'))

const CURSOR_CHARACTERS_MAX = 256
export const cursor = () =>
  v.pipe(text(1, CURSOR_CHARACTERS_MAX), v.description('Goes on where an earlier page ended.'))
