// The text of an entry, which is one string. Wherever items are stored (tail, chunk, batch, S3) an item is
//   i <pushed at: 8 base-36 digits of ms> <tag: 4 random characters> <text>
//   x … as above … <details> . <text>                 (with what its push, its queue or its death says of it)
// and a tail or chunk may hold, for n items at once, a reference to a batch:
//   b <r: rows | s: S3> <batch id: 8> <n>.<items a part>.<byte lengths of parts in S3, …>
// A detail is the letter that `shared/item-fields.ts` gives a field, and its value: `e mbq1k2c0 ,` a number in base 36,
// `w 7 : expired` a text behind its length in base 36. Readers pass over a letter that they do not know. The tag tells
// a push that lost its answer whether the entry it finds is its own. An entry never changes.

import {
  type Kept,
  type KeptField,
  type KeptName,
  keptFields,
  type LastingName,
  type Told,
  type ToldName,
} from '../../shared/item-fields.ts'
import { ENTRY_OVERHEAD_BYTES } from './limits.ts'

export type PoppedItem = Told & { readonly text: string }

export type Item = Kept & { readonly text: string; readonly pushedAtMs: number }

/** The times that an item was pushed with or put off to. It loses them when it becomes a dead letter. */
export type ItemTimes = Kept<'dueMs' | 'scheduledId' | 'expiresAtMs' | 'redrivenMs'>

/** What a dead letter knows of its death, unless somebody pushed it there by hand. */
export type Death = Required<Told<'reason' | 'deadLetteredAtMs' | 'priorDeliveries'>>

export type BatchReference = {
  readonly storage: 'rows' | 's3'
  readonly batch: string
  readonly count: number
  readonly partItems: number
  /** Byte length of each part within the S3 object. */
  readonly partBytes: readonly number[]
}

/** How many base-36 digits of milliseconds a time has inside a stored text. */
export const TIME_DIGITS = 8
/** The first time that needs one digit more: 2059-05-25. */
export const TIMES_END_MS = 36 ** TIME_DIGITS

const TAG_CHARACTERS = 4
const TEXT_AT = 1 + TIME_DIGITS + TAG_CHARACTERS

export function encodeItem(item: Item, tag: string): string {
  const head = encodeTime(item.pushedAtMs) + tag
  const details = encodeDetails(item)
  return details === '' ? `i${head}${item.text}` : `x${head}${details}.${item.text}`
}

function encodeDetails(item: Item): string {
  let details = ''
  for (const { name, kept } of keptFields) {
    const value = item[name]
    if (value === undefined) continue
    details += kept + (typeof value === 'string' ? encodeText(value) : encodeNumber(value))
  }
  return details
}

export function decodeItem(entry: string): Item {
  const pushedAtMs = pushedAtMsOf(entry)
  if (!hasDetails(entry)) return { text: entry.slice(TEXT_AT), pushedAtMs }
  const details: { [Name in KeptName]?: string | number } = {}
  let at = TEXT_AT
  while (entry[at] !== '.') {
    const [all, letter, digits, end] = detailAt(entry, at)
    at += all.length
    let value: string | number = Number.parseInt(digits, 36)
    if (end === ':') {
      at += value
      value = entry.slice(at - value, at)
    }
    const field = keptFields.find(({ kept }) => kept === letter)
    if (field !== undefined) details[field.name] = value
  }
  return { text: entry.slice(at + 1), pushedAtMs, ...(details as Kept) }
}

const detailForm = /([A-Za-z])([0-9a-z]+)([,:])/y

function detailAt(entry: string, at: number): [string, string, string, string] {
  detailForm.lastIndex = at
  const match = detailForm.exec(entry)
  if (match === null) throw new Error('An item in the table has details of another form')
  return match as unknown as [string, string, string, string]
}

const encodeText = (text: string): string => `${text.length.toString(36)}:${text}`

function encodeNumber(value: number): string {
  if (Number.isSafeInteger(value) && value >= 0) return `${value.toString(36)},`
  throw new RangeError(`Cannot store ${value} with an item because it is not a natural number`)
}

export const pushedAtMsOf = (entry: string): number =>
  Number.parseInt(entry.slice(1, 1 + TIME_DIGITS), 36)

export const tagOf = (entry: string): string => entry.slice(1 + TIME_DIGITS, TEXT_AT)

const hasDetails = (entry: string): boolean => entry.startsWith('x')

/** Whether it has times of its own. The record must say so (`timed`), or no pop looks whether the item has expired. */
export function isTimed(entry: string): boolean {
  if (!hasDetails(entry)) return false
  const { expiresAtMs, dueMs, redrivenMs, scheduledId } = decodeItem(entry)
  return (expiresAtMs ?? dueMs ?? redrivenMs ?? scheduledId) !== undefined
}

/** Readers count the digits: with one more, or a fraction, they would take a part of the time for the text behind it. */
export function encodeTime(ms: number): string {
  const whole = Math.max(0, ms)
  if (!Number.isInteger(whole) || whole >= TIMES_END_MS) {
    throw new RangeError(
      `Cannot store the time ${ms} because it is not a whole number of milliseconds, or because PushPop's times end on 2059-05-25: check the clock`,
    )
  }
  return whole.toString(36).padStart(TIME_DIGITS, '0')
}

// References to batches: one entry that stands for many items.

/** About what a reference adds to the record or a row: a smaller group of items needs no batch. */
export const REFERENCE_BYTES = 48

export const isReference = (entry: string): boolean => entry.startsWith('b')

export function encodeReference(reference: BatchReference): string {
  const storage = reference.storage === 'rows' ? 'r' : 's'
  const numbers = [reference.count, reference.partItems].map((n) => n.toString(36)).join('.')
  const parts = reference.partBytes.map((n) => n.toString(36)).join(',')
  return `b${storage}${reference.batch}${numbers}.${parts}`
}

export function decodeReference(entry: string): BatchReference {
  const [count, partItems, parts] = entry.slice(10).split('.')
  return {
    storage: entry[1] === 'r' ? 'rows' : 's3',
    batch: entry.slice(2, 10),
    count: Number.parseInt(count as string, 36),
    partItems: Number.parseInt(partItems as string, 36),
    partBytes: parts ? parts.split(',').map((n) => Number.parseInt(n, 36)) : [],
  }
}

/** How many sequence numbers an entry stands for. */
export function spanOf(entry: string): number {
  return isReference(entry) ? Number.parseInt(entry.slice(10), 36) : 1
}

export function spanOfAll(entries: readonly string[]): number {
  let span = 0
  for (const entry of entries) span += spanOf(entry)
  return span
}

// What an item weighs, in the record and in an answer, and what callers learn of it beside its text.

/** What an entry adds to the tail's byte count. */
export const entryBytes = (entry: string): number => Buffer.byteLength(entry) + ENTRY_OVERHEAD_BYTES

/** Bytes of an item in an answer as Lambda escapes it (the JSON text becomes a JSON string). */
export function escapedBytes(text: string): number {
  let extra = 0
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i)
    if (code === 0x22 || code === 0x5c || code === 0x0a || code === 0x0d || code === 0x09)
      extra += 1
    else if (code < 0x20) extra += 5
  }
  return Buffer.byteLength(text) + extra
}

/** What callers learn of an item from its entry. */
export const toldOf = (item: Item) =>
  some(item, ({ told }) => told !== undefined) as Plain & Told<KeptName & ToldName>

/** The item as it begins another life: as a dead letter, or back from there. */
export const lastingOf = (item: Item) =>
  some(item, ({ ends }) => ends === undefined) as Plain & Told<LastingName>

type Plain = Pick<Item, 'text' | 'pushedAtMs'>

function some(item: Item, isWanted: (field: KeptField) => boolean): Item {
  const { text, pushedAtMs } = item
  const kept: { [Name in KeptName]?: unknown } = {}
  for (const field of keptFields) {
    const value = item[field.name]
    if (value !== undefined && isWanted(field)) kept[field.name] = value
  }
  return { text, pushedAtMs, ...(kept as Kept) }
}
