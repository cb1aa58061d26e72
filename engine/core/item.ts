// The text of an entry, which is one string. Wherever items are stored (tail, chunk, batch, S3) an item is
//   i <pushed at: 8 base-36 digits of ms> <tag: 4 random characters> <text>
//   m … as above … <length of reason: 2 base-36 digits> <reason> <text>      (moved: dead-lettered)
//   m … where the tag begins with a dot, the reason ends with a sentence that tells the item's death, and its times
//   x … as above … <length of times: 2 base-36 digits> <times> <text>        (has times of its own)
// and a tail or chunk may hold, for n items at once, a reference to a batch:
//   b <r: rows | s: S3> <batch id: 8> <n>.<items a part>.<byte lengths of parts in S3, …>
// The tag tells a push that lost its answer whether the entry it finds is its own. An entry never changes.

import { present } from '../../shared/wire.ts'
import { ENTRY_OVERHEAD_BYTES } from './limits.ts'

export type PoppedItem = DeadLetter & {
  readonly text: string
  readonly id: string
  readonly priority: number
  readonly pushedAtMs: number
  /** 1 the first time. */
  readonly deliveries: number
  /** From then on, no pop returns it. */
  readonly expiresAtMs?: number
  /** For an item that was pushed for later: its id while it was scheduled, and when it was due. */
  readonly scheduledId?: string
  readonly dueMs?: number
}

export type Item = {
  readonly text: string
  readonly pushedAtMs: number
  /** Present on items that were moved here, not pushed by hand. */
  readonly moved?: {
    readonly reason: string
    readonly death?: Death | undefined
  }
} & ItemTimes

/** The times that an item was pushed with or put off to. It loses them when it becomes a dead letter. */
export type ItemTimes = {
  /** When it was to join its lane. */
  readonly dueMs?: number | undefined
  /** Its id while it waited for that. */
  readonly scheduledId?: string | undefined
  /** From then on, no pop returns it. */
  readonly expiresAtMs?: number | undefined
  /** When it came back from the dead letters to a queue whose items all expire. */
  readonly redrivenMs?: number | undefined
}

/** What a dead-letter queue knows of an item, unless somebody pushed it there by hand. */
export type DeadLetter = {
  /** Why it was dead-lettered. */
  readonly reason?: string
  /** When it came to this queue, and how often it had been delivered before. */
  readonly deadLetteredAtMs?: number
  readonly priorDeliveries?: number
}

type Death = {
  readonly atMs: number
  /** How often the item had been delivered by then. */
  readonly deliveries: number
}

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
  const time = encodeTime(item.pushedAtMs)
  if (item.moved === undefined) {
    const times = encodeTimes(item)
    if (times === '') return `i${time}${tag}${item.text}`
    return `x${time}${tag}${lengthOf(times)}${times}${item.text}`
  }
  const { reason, death } = item.moved
  const told = death === undefined ? reason : reason + sentenceOf(death, encodeTimes(item))
  const mark = death === undefined ? tag : DEATH_TOLD + tag.slice(1)
  return `m${time}${mark}${lengthOf(told)}${told}${item.text}`
}

export function decodeItem(entry: string): Item {
  const pushedAtMs = Number.parseInt(entry.slice(1, 1 + TIME_DIGITS), 36)
  if (entry.startsWith('i')) return { text: entry.slice(TEXT_AT), pushedAtMs }
  const reasonAt = TEXT_AT + 2
  const textAt = reasonAt + Number.parseInt(entry.slice(TEXT_AT, reasonAt), 36)
  const told = entry.slice(reasonAt, textAt)
  if (isTimed(entry)) return { text: entry.slice(textAt), pushedAtMs, ...decodeTimes(told) }
  const isDeathTold = entry[1 + TIME_DIGITS] === DEATH_TOLD
  const item = { text: entry.slice(textAt), pushedAtMs }
  return isDeathTold ? { ...item, ...withDeath(told) } : { ...item, moved: { reason: told } }
}

export const pushedAtMsOf = (entry: string): number =>
  Number.parseInt(entry.slice(1, 1 + TIME_DIGITS), 36)

export const tagOf = (entry: string): string => entry.slice(1 + TIME_DIGITS, TEXT_AT)

/** The record must say so (`timed`), or no pop looks whether the item has expired. */
export const isTimed = (entry: string): boolean => entry.startsWith('x')

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

const lengthOf = (text: string): string => text.length.toString(36).padStart(2, '0')

const ofTime = (letter: string, ms: number | undefined): string =>
  ms === undefined ? '' : `${letter}${ms.toString(36)},`

/** `dmbq1k2c0,emc0x8q7k,rmc11f0zz,s<scheduled id>`: only those that are set, the id last. */
function encodeTimes({ dueMs, expiresAtMs, redrivenMs, scheduledId }: ItemTimes): string {
  const id = scheduledId === undefined ? '' : `s${scheduledId}`
  return ofTime('d', dueMs) + ofTime('e', expiresAtMs) + ofTime('r', redrivenMs) + id
}

const timesForm = /^(?:d([0-9a-z]+),)?(?:e([0-9a-z]+),)?(?:r([0-9a-z]+),)?(?:s(.+))?$/

function decodeTimes(text: string): ItemTimes {
  const [, due, expires, redriven, scheduledId] = timesForm.exec(text) ?? []
  const msOf = (digits: string | undefined) =>
    digits === undefined ? undefined : Number.parseInt(digits, 36)
  const redrivenMs = msOf(redriven)
  return present({ dueMs: msOf(due), scheduledId, expiresAtMs: msOf(expires), redrivenMs })
}

/** No tag contains this character. */
const DEATH_TOLD = '.'

function sentenceOf({ atMs, deliveries }: Death, times: string): string {
  const told = `delivered ${deliveries} times, dead-lettered ${new Date(atMs).toISOString()}`
  return times === '' ? ` (${told})` : ` (${told}, times ${times})`
}

const deathForm = / \(delivered (\d+) times, dead-lettered ([^ ,]+)(?:, times ([^ ]+))?\)$/

function withDeath(told: string): Pick<Item, 'moved'> & ItemTimes {
  const [sentence = '', deliveries, time = '', times = ''] = deathForm.exec(told) ?? []
  if (sentence === '') return { moved: { reason: told } }
  const death = { atMs: Date.parse(time), deliveries: Number(deliveries) }
  return { ...decodeTimes(times), moved: { reason: told.slice(0, -sentence.length), death } }
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

/** What we tell callers about a dead-lettered item. */
export const deadLetterOf = ({ moved }: Item): DeadLetter =>
  moved === undefined
    ? {}
    : present({
        reason: moved.reason,
        deadLetteredAtMs: moved.death?.atMs,
        priorDeliveries: moved.death?.deliveries,
      })

/** What we tell callers about an item that was pushed for later. */
export const scheduledOf = ({ scheduledId, dueMs }: Item) => present({ scheduledId, dueMs })
