// How a push that comes again is known again. The record has a note of each push with a key; a seal writes a receipt of
// it into a separate row, and after that the note may leave. So a key is new, noted, in a receipt, or over. A push looks
// for the receipt before it writes, and its write passes only without the note: if notes have left in between, their
// marks tell whether its key may have been among them. Of the inbox, which delivers in order, the record remembers the
// last message alone.

import { decodeReference, encodeTime, isReference, spanOf, TIME_DIGITS, tagOf } from './item.ts'
import { HASH_CHARACTERS, receiptKey } from './keys.ts'
import { IDEMPOTENCY_TTL_SECONDS, NOTE_MARKS_KEPT } from './limits.ts'
import { EPOCH_CHARACTERS, type Lane, type NotesMoved, type QueueRecord } from './record.ts'

/** Expired notes that any fenced write removes beside its own work: about as many as a record has. */
const NOTES_PER_WRITE = 25
/**
 * The next process that sees a note this old makes it a receipt, even if the tail is not full: an hour of writes to
 * the record has paid for the note by then, and its receipt costs the same now or later.
 */
const NOTES_OLD_MS = 60 * 60_000
/**
 * How far the clocks of two processes may differ about the end of a key's time: far more than they ever do, and
 * still little of a key's day.
 */
const CLOCKS_APART_SECONDS = 60 * 60

// Each note is a separate attribute, named by a dot and the hash of the key, so that an append can make it blindly:
//   <hash of the body: 22> <pushed at: 8 base-36 digits of ms> <tag: 4> <places>
//     [! <seconds it is remembered>] [@ <seals>]
// The tag is random: by it, an append whose answer was lost knows its note from another append's with the same key.
// The places, with commas between them, say where the push's items begin in each lane:
//   <priority> . <anchor> [. <offset>]    this many items after the append's first entry, which is in the tail
//   <priority> : <epoch: 8> <number>      the number itself, once that entry is no longer in the tail
// An append cannot know the number. A fenced write that takes the entry off the tail knows it and writes it down.

/** In a lane, where a push begins. */
export type Place = { readonly epoch: string; readonly start: number }
export type Places = ReadonlyMap<number, Place>

/** Where a push's items begin among those that its append brings to a lane. */
export type Offset = { readonly anchor: string; readonly offset: number }

export type Note = {
  readonly bodyHash: string
  readonly pushedAtMs: number
  readonly tag: string
  readonly ttlSeconds: number
  readonly places: ReadonlyMap<number, Offset | Place>
  /** For a push that scheduled items: how many seals it knew of, which is part of their ids. */
  readonly seals?: number | undefined
}

export const noneMoved: NotesMoved = { forgotten: 0, marks: '' }

export const NOTE_TAG_CHARACTERS = 4
const TAG_AT = HASH_CHARACTERS + TIME_DIGITS
const PLACES_AT = TAG_AT + NOTE_TAG_CHARACTERS
const NOTE_MARK_CHARACTERS = 3

/** About what a note with its name adds to the record, and what each of its lanes adds once it has a number. */
const NOTE_BYTES = 58
const NOTE_LANE_BYTES = 14

/** What a note adds to the count of the tail's bytes: the same number for as long as the note is there. */
export const noteBytes = (note: string): number =>
  NOTE_BYTES + NOTE_LANE_BYTES * note.slice(PLACES_AT).split(',').length

/** What distinguishes a tail's entry from any other of the same time. */
export const anchorOf = (entry: string): string =>
  isReference(entry) ? decodeReference(entry).batch : tagOf(entry)

export function encodeNote(note: Note): string {
  const { bodyHash, pushedAtMs, tag, ttlSeconds, places, seals } = note
  const time = encodeTime(pushedAtMs)
  const lanes = [...places].map(([priority, place]) => {
    const lane = priority.toString(36)
    if ('epoch' in place) return `${lane}:${place.epoch}${place.start.toString(36)}`
    return `${lane}.${place.anchor}${place.offset === 0 ? '' : `.${place.offset.toString(36)}`}`
  })
  const ttl = ttlSeconds === IDEMPOTENCY_TTL_SECONDS ? '' : `!${ttlSeconds.toString(36)}`
  const scheduled = seals === undefined ? '' : `@${seals.toString(36)}`
  return `${bodyHash}${time}${tag}${lanes.join()}${ttl}${scheduled}`
}

export function decodeNote(note: string): Note {
  const [before = '', seals] = note.slice(PLACES_AT).split('@')
  const [lanes = '', ttl] = before.split('!')
  const places = lanes === '' ? [] : lanes.split(',').map(decodePlace)
  return {
    bodyHash: note.slice(0, HASH_CHARACTERS),
    pushedAtMs: Number.parseInt(note.slice(HASH_CHARACTERS, TAG_AT), 36),
    tag: note.slice(TAG_AT, PLACES_AT),
    ttlSeconds: ttl === undefined ? IDEMPOTENCY_TTL_SECONDS : Number.parseInt(ttl, 36),
    places: new Map(places),
    ...(seals !== undefined && { seals: Number.parseInt(seals, 36) }),
  }
}

function decodePlace(text: string): [number, Offset | Place] {
  const [lane = '', place] = text.split(':')
  if (place !== undefined) {
    const epoch = place.slice(0, EPOCH_CHARACTERS)
    const start = Number.parseInt(place.slice(EPOCH_CHARACTERS), 36)
    return [Number.parseInt(lane, 36), { epoch, start }]
  }
  const [priority = '', anchor = '', offset = '0'] = text.split('.')
  return [Number.parseInt(priority, 36), { anchor, offset: Number.parseInt(offset, 36) }]
}

/** Whether these are the same note: the recorded places may have become numbers since. */
export const isSameNote = (recorded: string, sent: string): boolean =>
  recorded.slice(0, PLACES_AT) === sent.slice(0, PLACES_AT)

// How long a key is remembered, and how long its note stays.

/** When the note is forgotten, in seconds, as in a receipt. */
export const ttlOf = ({ pushedAtMs, ttlSeconds }: Note): number =>
  Math.ceil(pushedAtMs / 1000) + ttlSeconds

/** DynamoDB deletes receipts days late, and no process deletes a note on time: past its time, a key counts as new. */
export const isForgotten = (ttl: number, nowMs: number): boolean => ttl <= nowMs / 1000

/** Over by any process's clock. */
export const isLongForgotten = (note: Note, nowMs: number): boolean =>
  isForgotten(ttlOf(note) + CLOCKS_APART_SECONDS, nowMs)

/** Whether notes have stayed long because no seal came: every write pays for them. */
export function hasOldNotes({ notes }: QueueRecord, nowMs: number): boolean {
  if (notes.size === 0) return false
  const before = encodeTime(nowMs - NOTES_OLD_MS)
  return [...notes.values()].some((note) => note.slice(HASH_CHARACTERS, TAG_AT) < before)
}

/** A fenced write also removes notes that ended long ago: their keys count as new, and need no receipt. */
export function withoutExpired(record: QueueRecord, nowMs: number): QueueRecord {
  if (!hasOldNotes(record, nowMs)) return record
  const expired = [...record.notes].filter(([, note]) => isLongForgotten(decodeNote(note), nowMs))
  const hashes = expired.slice(0, NOTES_PER_WRITE).map(([hash]) => hash)
  return withoutNotes(record, hashes)
}

/**
 * The record without these notes, whose receipts are written. It keeps the marks of the last notes that have left, so
 * that a push that was on its way meanwhile can tell whether its key was among them. Without a mark it looks again.
 */
export function withoutNotes(record: QueueRecord, keyHashes: readonly string[]): QueueRecord {
  if (keyHashes.length === 0) return record
  const notes = new Map(record.notes)
  let tailBytes = record.tailBytes
  for (const hash of keyHashes) {
    tailBytes -= noteBytes(notes.get(hash) as string)
    notes.delete(hash)
  }
  const all = record.moved.marks + keyHashes.map(markOf).join('')
  const marks = all.slice(-NOTE_MARK_CHARACTERS * NOTE_MARKS_KEPT)
  const forgotten = record.moved.forgotten + (all.length - marks.length) / NOTE_MARK_CHARACTERS
  return { ...record, notes, tailBytes, moved: { forgotten, marks } }
}

// Whether a note may have left the record since we looked for its receipt: marks of those that have left tell.

/** A key's mark, once its note has left. Two keys may have the same mark: then the push looks closer. */
export const markOf = (keyHash: string): string => keyHash.slice(0, NOTE_MARK_CHARACTERS)

export const movedSoFar = ({ forgotten, marks }: NotesMoved): number =>
  forgotten + marks.length / NOTE_MARK_CHARACTERS

/**
 * Whether the notes of these keys may have left the record since it was as `seen`. We looked for their receipts
 * after that, but the receipts may have been written even later.
 */
export function mayHaveLeft(
  keyHashes: Iterable<string>,
  seen: QueueRecord,
  now: QueueRecord,
): boolean {
  if (now.born !== seen.born) return true
  const before = movedSoFar(seen.moved)
  if (before === movedSoFar(now.moved)) return false
  if (now.moved.forgotten > before) return true
  const since = now.moved.marks.slice(NOTE_MARK_CHARACTERS * (before - now.moved.forgotten))
  return [...keyHashes].some((hash) => since.includes(markOf(hash)))
}

/** Whether notes have left since then of which the record no longer has the marks. */
export const hasLostCount = (seen: QueueRecord, now: QueueRecord): boolean =>
  now.born === seen.born && now.moved.forgotten > movedSoFar(seen.moved)

// Where the items of a noted push are: its note gives their places, so that a repetition gets the same ids.

/** Where the push's items are: no write takes an entry off a tail without its number in the note (`withNumbers`). */
export function placesOf(record: QueueRecord, { places, pushedAtMs }: Note): Places {
  const found = new Map<number, Place>()
  for (const [priority, place] of places) {
    if ('epoch' in place) {
      found.set(priority, place)
      continue
    }
    const lane = record.lanes.get(priority)
    const start = lane && startOf(lane, place.anchor, pushedAtMs)
    if (lane === undefined || start === undefined) continue
    found.set(priority, { epoch: lane.epoch, start: start + place.offset })
  }
  return found
}

function startOf(lane: Lane, anchor: string, pushedAtMs: number): number | undefined {
  const time = encodeTime(pushedAtMs)
  let sequence = lane.sealed
  for (const entry of lane.tail) {
    const isIt = isReference(entry)
      ? entry.startsWith(anchor, 2)
      : entry.startsWith(time + anchor, 1)
    if (isIt) return sequence
    sequence += spanOf(entry)
  }
  return undefined
}

/**
 * A fenced write that takes entries off a tail is the last that can tell their sequence numbers, so it writes them
 * into the notes.
 */
export function withNumbers(before: QueueRecord, after: QueueRecord): QueueRecord {
  if (after.notes.size === 0) return after
  const cut = [...before.lanes.values()].filter(
    ({ priority, sealed }) => after.lanes.get(priority)?.sealed !== sealed,
  )
  if (cut.length === 0) return after
  const notes = new Map(after.notes)
  for (const [hash, text] of after.notes) {
    const note = decodeNote(text)
    const places = new Map(note.places)
    let found: Places | undefined
    let isNumbered = false
    for (const { priority, epoch } of cut) {
      const place = places.get(priority)
      if (place === undefined || 'epoch' in place) continue
      found ??= placesOf(before, note)
      const start = found.get(priority)?.start
      const sealed = after.lanes.get(priority)?.sealed ?? Number.POSITIVE_INFINITY
      // The push's first item may be further on; what counts is the append's first entry, its anchor.
      if (start === undefined || start - place.offset >= sealed) continue
      places.set(priority, { epoch, start })
      isNumbered = true
    }
    if (isNumbered) notes.set(hash, encodeNote({ ...note, places }))
  }
  return { ...after, notes }
}

// Receipts: the record's notes as separate rows.

/** What a receipt remembers of an idempotent push. */
export type Receipt = {
  readonly pk: string
  readonly sk: string
  /** Hash of the body: the same key with another body is a conflict. */
  readonly hash: string
  /** The append's tag. */
  readonly tag: string
  /** Seconds; DynamoDB deletes it some time after, and until then it counts as gone. */
  readonly ttl: number
  /** [priority, epoch, first sequence number] of each lane. */
  readonly places: readonly (readonly [number, string, number])[]
  /** For a push that scheduled items: its time, and how many seals it knew of. */
  readonly later?: readonly [number, number]
}

/**
 * The record's notes of these keys, as separate rows. They are true as soon as the notes are: it does not matter
 * whether the notes leave the record after that, nor which process takes them out. A key whose time was over long ago
 * gets none; only long ago, because our clock may be ahead of those of processes that ask for the key.
 */
export function receiptRows(
  record: QueueRecord,
  keyHashes: readonly string[],
  nowMs: number,
): Receipt[] {
  const rows: Receipt[] = []
  for (const keyHash of keyHashes) {
    const note = decodeNote(record.notes.get(keyHash) as string)
    const ttl = ttlOf(note)
    if (isLongForgotten(note, nowMs)) continue
    const places = [...placesOf(record, note)]
    rows.push({
      ...receiptKey(record.queue, keyHash),
      hash: note.bodyHash,
      tag: note.tag,
      ttl,
      ...(note.seals !== undefined && { later: [note.pushedAtMs, note.seals] as const }),
      places: places.map(([priority, { epoch, start }]) => [priority, epoch, start] as const),
    })
  }
  return rows
}

/**
 * Whether somebody may push the key anew before we write this row: if the record was remembered for long, or the
 * process paused. Then the receipt of the new push must stay.
 */
export const mayHaveSuccessor = ({ ttl }: Pick<Receipt, 'ttl'>, nowMs: number): boolean =>
  isForgotten(ttl - CLOCKS_APART_SECONDS, nowMs)

/** Until when none of these has one. */
export const withoutSuccessorUntilMs = (rows: readonly Receipt[]): number =>
  1_000 * (Math.min(...rows.map(({ ttl }) => ttl)) - CLOCKS_APART_SECONDS)

// How far a queue has come with the messages of the inbox, as one text in its record:
//   <which inbox: 6> <sequence number: 40 digits> <applied at: 8 base-36 digits of ms>
// SQS counts up within a group, in numbers of up to 128 bits. As texts of equal length they compare like the
// numbers. The time at the end never decides: a text without it sorts before the same text with it. The numbers of
// one inbox say nothing about those of another, such as one that was made again in its place.

/** A message's place: texts of one inbox compare as their numbers do. */
export type Sequence = string

const INBOX_CHARACTERS = 6
const DIGITS = 40
const TIME_AT = INBOX_CHARACTERS + DIGITS

/** `inbox`: six characters that tell it from any other. */
export const sequenceOf = (inbox: string, number: string): Sequence =>
  inbox.slice(0, INBOX_CHARACTERS).padEnd(INBOX_CHARACTERS, '.') + number.padStart(DIGITS, '0')

const inboxOf = (sequence: Sequence): string => sequence.slice(0, INBOX_CHARACTERS)

/** Sorts after every message of the same inbox: `:` is the character that follows the digits. */
export const behind = (sequence: Sequence): string => `${inboxOf(sequence)}:`

/** What the record says once a message is applied. */
export const appliedAt = (sequence: Sequence, nowMs: number): string => sequence + encodeTime(nowMs)

/** Whether the record has applied the message, or a later one, which means the same. */
export const isApplied = (sequence: Sequence, record: QueueRecord | undefined): boolean =>
  record?.sequence !== undefined &&
  inboxOf(record.sequence) === inboxOf(sequence) &&
  record.sequence >= sequence

/**
 * How long SQS may still deliver a message that was applied: it keeps messages for 14 days, and one that a function
 * is just then applying for as long as the invocation lasts, twelve hours at the very most.
 */
const DELIVERABLE_MS = 15 * 86_400_000

/** Until then we must keep the record: SQS could deliver an applied message again. */
export const neededUntilMs = ({ sequence }: QueueRecord): number =>
  sequence === undefined ? 0 : Number.parseInt(sequence.slice(TIME_AT), 36) + DELIVERABLE_MS
