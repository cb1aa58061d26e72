import { QueueError } from '../../foundation/errors.ts'
import { defaultConfiguration } from './configuration.ts'
import { decodeEnded } from './ended-locks.ts'
import { noneMoved } from './notes.ts'
import type { Lane, Lock, QueueRecord, Reminder, Run, Scheduled } from './record.ts'
import { TIMED_FORMAT } from './record.ts'
import { noneScheduled, rowOfShort } from './scheduled.ts'
import { decodeConfiguration, type StoredConfiguration } from './stored-configuration.ts'
import { decodeLane, type StoredLane } from './stored-lane.ts'
import { decodeLock, type StoredLock } from './stored-lock.ts'

/** Attribute names are short because every write is billed by the record's size. */
export type StoredRecord = {
  pk: string
  sk: string
  shard: number
  v: number
  born: string
  m: string
  e?: string
  le?: number
  L: Record<string, StoredLane>
  K: Record<string, StoredLock>
  F: Record<string, number>
  b: number
  a: number
  c: number
  n: number
  i: number
  g: number
  room: number
  /** Room that is kept for due items. */
  kr?: number
  cfg?: StoredConfiguration
  /** Tokens of the last entries for callers' own transactions, and how many came before those. */
  u?: string[]
  ux?: number
  /** Notes that have left: the marks of the last ones, and how many earlier ones have no mark any more. */
  km?: string
  kx?: number
  /** The sequence number of the last message of the inbox, of 40 digits. */
  sn?: string
  /** Scheduled entries, their bytes, and the number of scheduled items in all. */
  T?: string[]
  tb?: number
  sc?: number
  /** Of scheduled items: how many changes, seals and purges there were. */
  tv?: number
  tg?: number
  te?: number
  /** Of the rows: the earliest due second, and the sort key up to which they have joined. */
  nd?: number
  tu?: string[]
  /** Purges of what was scheduled whose rows are not all deleted yet. */
  td?: string[]
  checkAt?: number
  /** `checkAt` was near when it was set (`timers.ts`): the stream announces it. */
  wk?: string
  /** [announcements, taken, since] */
  rm?: [number, number, number]
  work?: string
  dry?: string
  ev?: string
  hold?: number
  /** The format, from 2 on. */
  fm?: number
  /** Present from format 3 on. */
  fn?: number
  /** Notes, by the hash of the key. */
  [note: NoteName]: string
}

export type NoteName = `.${string}`
export const noteName = (keyHash: string): NoteName => `.${keyHash}`

export function decodeRecord(stored: StoredRecord): QueueRecord {
  const queue = stored.pk.slice(2)
  const { fm: format = 1 } = stored
  if (format > TIMED_FORMAT || stored.fn !== undefined) throw unknownFormat(queue, format)
  const lanes = new Map<number, Lane>()
  for (const [priority, lane] of Object.entries(stored.L)) {
    lanes.set(Number(priority), decodeLane(Number(priority), lane))
  }
  const locks = new Map<string, Lock>()
  for (const [lockId, lock] of Object.entries(stored.K)) {
    locks.set(lockId, decodeLock(lock, stored.F[lockId]))
  }
  return {
    queue,
    version: stored.v,
    born: stored.born,
    marks: stored.m,
    ended: decodeEnded(stored.e ?? ''),
    lastEndedMs: stored.le ?? 0,
    lanes,
    locks,
    tailBytes: stored.b,
    appends: stored.a,
    claims: stored.c,
    lanesMade: stored.n,
    inFlight: stored.i,
    room: stored.room,
    keptRoom: stored.kr ?? 0,
    returns: stored.g,
    configuration:
      stored.cfg === undefined ? defaultConfiguration : decodeConfiguration(stored.cfg),
    tokens: { kept: stored.u?.length ?? 0, forgotten: stored.ux ?? 0 },
    notes: decodeNotes(stored),
    moved:
      stored.km === undefined && stored.kx === undefined
        ? noneMoved
        : { marks: stored.km ?? '', forgotten: stored.kx ?? 0 },
    sequence: stored.sn,
    timed: format === TIMED_FORMAT,
    scheduled: decodeScheduledPart(stored),
    checkAtMs: stored.checkAt,
    near: stored.wk !== undefined,
    reminder: stored.rm && { times: stored.rm[0], taken: stored.rm[1], sinceMs: stored.rm[2] },
    work: stored.work !== undefined,
    dry: stored.dry !== undefined,
    notable: stored.ev !== undefined,
    holdUntilMs: stored.hold ?? 0,
  }
}

/** The counts stay even when nothing is scheduled any more, so that old writes cannot pass. */
function decodeScheduledPart(stored: StoredRecord): Scheduled {
  if (stored.sc === undefined) return noneScheduled
  return {
    entries: stored.T ?? [],
    items: stored.sc,
    bytes: stored.tb ?? 0,
    changes: stored.tv ?? 0,
    seals: stored.tg ?? 0,
    nextDue: stored.nd,
    unseen: (stored.tu ?? []).map(rowOfShort),
    era: stored.te ?? 0,
    purged: stored.td ?? [],
  }
}

function decodeNotes(stored: StoredRecord): QueueRecord['notes'] {
  const notes = new Map<string, string>()
  for (const name in stored) {
    if (name.startsWith('.')) notes.set(name.slice(1), stored[name as NoteName] as string)
  }
  return notes
}

const unknownFormat = (queue: string, format: number): QueueError =>
  new QueueError(
    'FORMAT_UNKNOWN',
    `Cannot use queue "${queue}" because a newer PushPop has written it (format ${format}) and this one knows format ${TIMED_FORMAT}: deploy the newer version here as well`,
  )

export const encodeReminder = ({ times, taken, sinceMs }: Reminder): [number, number, number] => [
  times,
  taken,
  sinceMs,
]

/** `0R2sS8c`: where the first begins, then the kind and length of each, in base 36. */
export function encodeRuns(runs: readonly Run[]): string | undefined {
  const [first] = runs
  if (first === undefined) return undefined
  const kinds = runs.map((run) => letters[run.in] + (run.to - run.from).toString(36))
  return first.from.toString(36) + kinds.join('')
}

export function decodeRuns(stored: string | undefined): readonly Run[] {
  if (stored === undefined) return []
  const runs: Run[] = []
  const [start = '', ...kinds] = stored.split(/(?=[A-Z])/)
  let from = Number.parseInt(start, 36)
  for (const kind of kinds) {
    const to = from + Number.parseInt(kind.slice(1), 36)
    runs.push({ from, to, in: places[kind[0] as string] ?? 'unknown' })
    from = to
  }
  return runs
}

export const letters = {
  rows: 'R',
  'batch-rows': 'B',
  'batch-s3': 'S',
  batches: 'M',
  unknown: 'U',
} as const

export const places = Object.fromEntries(
  Object.entries(letters).map(([place, letter]) => [letter, place as Run['in']]),
)
