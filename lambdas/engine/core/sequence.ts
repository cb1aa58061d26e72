import type { QueueRecord } from './record.ts'
import { encodeTime } from './time-digits.ts'

/*
 * How far a queue has come with the messages of the inbox, as one text in its record:
 *   <which inbox: 6> <sequence number: 40 digits> <applied at: 8 base-36 digits of ms>
 * SQS counts up within a group, in numbers of up to 128 bits. As texts of equal length they compare like the
 * numbers. The time at the end never decides: a text without it sorts before the same text with it. The numbers of
 * one inbox say nothing about those of another, such as one that was made again in its place.
 */

const INBOX_CHARACTERS = 6
const DIGITS = 40
const TIME_AT = INBOX_CHARACTERS + DIGITS

/** A message's place: texts of one inbox compare as their numbers do. */
export type Sequence = string

/** `inbox`: six characters that tell it from any other. */
export const sequenceOf = (inbox: string, number: string): Sequence =>
  inbox.slice(0, INBOX_CHARACTERS).padEnd(INBOX_CHARACTERS, '.') + number.padStart(DIGITS, '0')

export const inboxOf = (sequence: Sequence): string => sequence.slice(0, INBOX_CHARACTERS)

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
