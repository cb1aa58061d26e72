// The record as it lies in the table: every attribute of its row, in one type, and what each stands for. Attribute names
// are short because every write is billed by the record's size, and what is empty is absent. A record in a format that
// this version does not know is refused as a whole.

import { QueueError } from '../../shared/errors.ts'
import { LOCK_ID_CHARACTERS, queueOfRecordKey } from './keys.ts'
import { noneScheduled, rowOfShort } from './later.ts'
import { unflatten } from './ranges.ts'
import {
  type Dead,
  type Delivered,
  type EndedLock,
  type Ending,
  type Lane,
  type Lock,
  noSegments,
  type QueueRecord,
  type Reminder,
  type Run,
  type Scheduled,
  type Stretch,
} from './record.ts'
import { noneMoved } from './repeated-pushes.ts'
import { decodeConfiguration, defaultConfiguration, type StoredConfiguration } from './settings.ts'

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
  /** `checkAt` was near when it was set (`isNear`): the stream announces it. */
  wk?: string
  /** [announcements, taken, since] */
  rm?: [number, number, number]
  work?: string
  dry?: string
  ev?: string
  hold?: number
  /** The gate: what holds pops back, and until when (ms). This engine honours it, and sets none. */
  gp?: Record<string, number>
  /** Some items have, or had, times of their own. */
  tm?: string
  /** The format, from 2 on. */
  fm?: number
  /** Notes, by the hash of the key. */
  [note: NoteName]: string
}

type NoteName = `.${string}`
export const noteName = (keyHash: string): NoteName => `.${keyHash}`

export function decodeRecord(stored: StoredRecord): QueueRecord {
  const queue = queueOfRecordKey(stored.pk)
  if (stored.fm !== undefined) throw unknownFormat(queue, stored.fm)
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
    timed: stored.tm !== undefined,
    scheduled: decodeScheduledPart(stored),
    checkAtMs: stored.checkAt,
    near: stored.wk !== undefined,
    reminder: stored.rm && { times: stored.rm[0], taken: stored.rm[1], sinceMs: stored.rm[2] },
    work: stored.work !== undefined,
    dry: stored.dry !== undefined,
    notable: stored.ev !== undefined,
    holdUntilMs: stored.hold ?? 0,
    gateUntilMs: stored.gp && Math.max(0, ...Object.values(stored.gp)),
  }
}

const unknownFormat = (queue: string, format: number): QueueError =>
  new QueueError(
    'FORMAT_UNKNOWN',
    `Cannot use queue "${queue}" because a newer PushPop has written it (format ${format}) and this one knows format 1: deploy the newer version here as well`,
  )

function decodeNotes(stored: StoredRecord): QueueRecord['notes'] {
  const notes = new Map<string, string>()
  for (const name in stored) {
    if (name.startsWith('.')) notes.set(name.slice(1), stored[name as NoteName] as string)
  }
  return notes
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

export const encodeReminder = ({ times, taken, sinceMs }: Reminder): [number, number, number] => [
  times,
  taken,
  sinceMs,
]

// How a lane is stored.

type StoredLane = {
  e: string
  z: number
  h: number
  f: number
  s: number
  t: string[]
  o?: [number, number]
  r?: number
  x?: number
  k?: number[]
  /** [from, to, count, …] */
  d?: number[]
  /** [from, to, index of the reason, …] */
  q?: number[]
  /** Reasons of dead items, each once. */
  w?: string[]
  /** Where sealed items lie (`runs.ts`). */
  y?: string
}

function decodeLane(priority: number, stored: StoredLane): Lane {
  const deliveries: Delivered[] = []
  const d = stored.d ?? []
  for (let i = 0; i < d.length; i += 3) {
    deliveries.push({ from: d[i] as number, to: d[i + 1] as number, count: d[i + 2] as number })
  }
  const dead: Dead[] = []
  const q = stored.q ?? []
  for (let i = 0; i < q.length; i += 3) {
    const reason = stored.w?.[q[i + 2] as number] ?? ''
    dead.push({ from: q[i] as number, to: q[i + 1] as number, reason })
  }
  return {
    priority,
    epoch: stored.e,
    segmentSize: stored.z,
    head: stored.h,
    frontier: stored.f,
    sealed: stored.s,
    tail: stored.t,
    runs: decodeRuns(stored.y),
    offloaded: stored.o === undefined ? noSegments : { from: stored.o[0], to: stored.o[1] },
    recalled: stored.r ?? 0,
    trimmed: stored.x ?? 0,
    holes: unflatten(stored.k),
    deliveries,
    dead,
  }
}

export function encodeLane(lane: Lane): StoredLane {
  return {
    e: lane.epoch,
    z: lane.segmentSize,
    h: lane.head,
    f: lane.frontier,
    s: lane.sealed,
    t: [...lane.tail],
    ...encodeLaneOptions(lane),
  }
}

/** The optional attributes of a lane, each absent while it is empty. */
export function encodeLaneOptions(
  lane: Lane,
): Pick<StoredLane, 'o' | 'r' | 'x' | 'k' | 'd' | 'q' | 'w' | 'y'> {
  const runs = encodeRuns(lane.runs)
  const reasons = [...new Set(lane.dead.map(({ reason }) => reason))]
  return {
    ...(lane.offloaded.from < lane.offloaded.to && { o: [lane.offloaded.from, lane.offloaded.to] }),
    ...(lane.recalled > 0 && { r: lane.recalled }),
    ...(lane.trimmed > 0 && { x: lane.trimmed }),
    ...(lane.holes.length > 0 && { k: lane.holes.flatMap(({ from, to }) => [from, to]) }),
    ...(lane.deliveries.length > 0 && {
      d: lane.deliveries.flatMap(({ from, to, count }) => [from, to, count]),
    }),
    ...(lane.dead.length > 0 && {
      q: lane.dead.flatMap(({ from, to, reason }) => [from, to, reasons.indexOf(reason)]),
      w: reasons,
    }),
    ...(runs !== undefined && { y: runs }),
  }
}

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

const letters = {
  rows: 'R',
  'batch-rows': 'B',
  'batch-s3': 'S',
  batches: 'M',
  unknown: 'U',
} as const
const places = Object.fromEntries(
  Object.entries(letters).map(([place, letter]) => [letter, place as Run['in']]),
)

// How locks are stored, live ones and those that have ended.

export type StoredLock =
  /** A claim: one stretch, whose start is under the same lock id in `F`. */
  | { x: number; p: number; n: number; k?: string; s?: string }
  /** [priority, from, to, …] */
  | { x: number; r: number[]; k?: string; s?: string }

function decodeLock(stored: StoredLock, from: number | undefined): Lock {
  if ('r' in stored) {
    const stretches: Stretch[] = []
    for (let i = 0; i < stored.r.length; i += 3) {
      stretches.push({
        priority: stored.r[i] as number,
        from: stored.r[i + 1] as number,
        to: stored.r[i + 2] as number,
      })
    }
    return { expiresAtMs: stored.x, stretches, keyHash: stored.k, signs: stored.s }
  }
  const start = from as number
  return {
    expiresAtMs: stored.x,
    stretches: [{ priority: stored.p, from: start, to: start + stored.n }],
    keyHash: stored.k,
    signs: stored.s,
  }
}

export function encodeLock(lock: Lock): Extract<StoredLock, { r: number[] }> {
  return {
    x: lock.expiresAtMs,
    r: lock.stretches.flatMap(({ priority, from, to }) => [priority, from, to]),
    ...(lock.keyHash !== undefined && { k: lock.keyHash }),
    ...(lock.signs !== undefined && { s: lock.signs }),
  }
}

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

/** `aB3dE5gH7jKa2s.…`: lock id, how it ended, and its items in base 36. */
export const encodeEnded = (ended: readonly EndedLock[]): string =>
  ended
    .map(({ lockId, ending, items }) => `${lockId}${endingCodes[ending]}${items.toString(36)}`)
    .join('.')

const decodeEnded = (stored: string): EndedLock[] =>
  (stored === '' ? [] : stored.split('.')).map((text) => ({
    lockId: text.slice(0, LOCK_ID_CHARACTERS),
    ending: endings[text[LOCK_ID_CHARACTERS] as string] as Ending,
    items: Number.parseInt(text.slice(LOCK_ID_CHARACTERS + 1), 36),
  }))
