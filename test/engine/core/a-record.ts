import fc from 'fast-check'
import { encodeItem, entryBytes } from '../../../engine/core/item.ts'
import { noneScheduled } from '../../../engine/core/later.ts'
import { type Range, type Ranges, subtract, take } from '../../../engine/core/ranges.ts'
import {
  freeIn,
  inFlightOf,
  type Lane,
  type Lock,
  newLane,
  type QueueRecord,
  type Stretch,
} from '../../../engine/core/record.ts'
import { noneMoved } from '../../../engine/core/repeated-pushes.ts'
import { defaultConfiguration, ROOM_UNLIMITED } from '../../../engine/core/settings.ts'

/** Records for tests of decisions: by hand, and at random. */

export const nowMs = 1_900_000_000_000
export const later = (ms: number): number => nowMs + ms

export const anEntry = (text = '1'): string => encodeItem({ text, pushedAtMs: nowMs }, 'tag1')

export const tailOf = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => anEntry(String(index)))

export function aLane(changes: Partial<Lane> = {}): Lane {
  return { ...newLane({ priority: 0, epoch: 'epoch-00', segmentSize: 100 }), ...changes }
}

export function aRecord(
  lanes: Readonly<Record<number, Lane>> = {},
  changes: Partial<QueueRecord> = {},
): QueueRecord {
  const record: QueueRecord = {
    queue: 'orders',
    version: 7,
    born: 'born-000',
    marks: 'mark01mark02',
    ended: [],
    lastEndedMs: 0,
    lanes: new Map(
      Object.entries(lanes).map(([key, lane]) => [Number(key), withPriority(lane, Number(key))]),
    ),
    locks: new Map(),
    notes: new Map(),
    moved: noneMoved,
    sequence: undefined,
    timed: false,
    scheduled: noneScheduled,
    tailBytes: 0,
    appends: 3,
    claims: 2,
    lanesMade: 1,
    inFlight: 0,
    room: ROOM_UNLIMITED,
    keptRoom: 0,
    returns: 0,
    configuration: defaultConfiguration,
    tokens: { kept: 0, forgotten: 0 },
    checkAtMs: undefined,
    near: false,
    reminder: undefined,
    work: false,
    dry: false,
    notable: false,
    holdUntilMs: 0,
    gateUntilMs: undefined,
    ...changes,
  }
  return { ...record, tailBytes: recountTail(record), inFlight: inFlightOf(record) }
}

const withPriority = (lane: Lane, priority: number): Lane =>
  lane.priority === priority ? lane : { ...lane, priority }

function recountTail(record: QueueRecord): number {
  let bytes = 0
  for (const lane of record.lanes.values())
    for (const entry of lane.tail) bytes += entryBytes(entry)
  return bytes
}

export const aLock = (expiresAtMs: number, ...stretches: Stretch[]): Lock => ({
  expiresAtMs,
  stretches,
})

export const at = (priority: number, from: number, to: number): Stretch => ({ priority, from, to })

export const range = (from: number, to: number): Range => ({ from, to })

/** Some of the numbers of the ranges, in pieces. */
const somePieces = (ranges: Ranges): fc.Arbitrary<Ranges> =>
  fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }).map((chosen) => {
    const pieces: Range[] = []
    let rest = ranges
    for (const isChosen of chosen) {
      const piece = take(rest, 2)
      rest = subtract(rest, piece)
      if (isChosen) pieces.push(...piece)
    }
    return pieces
  })

/** A lane with a tail, holes, dead and returned items that do not contradict each other. */
const anyLane: fc.Arbitrary<Lane> = fc
  .record({
    head: fc.nat(40),
    taken: fc.nat(24),
    sealedMore: fc.nat(20),
    tail: fc.nat(12),
    segmentSize: fc.integer({ min: 1, max: 9 }),
    deadCount: fc.nat(2),
  })
  .chain(({ head, taken, sealedMore, tail, segmentSize, deadCount }) => {
    const sealed = Math.max(0, head - 3) + sealedMore
    const end = Math.max(sealed + tail, head)
    const frontier = Math.min(head + taken, end)
    const entries = tailOf(end - sealed)
    const handedOut = head + 1 < frontier ? [{ from: head + 1, to: frontier }] : []
    return somePieces(handedOut).chain((holes) => {
      const back = subtract(head < frontier ? [{ from: head, to: frontier }] : [], holes)
      return fc.integer({ min: 1, max: 4 }).map((count) => ({
        ...aLane({
          head,
          frontier,
          sealed,
          tail: entries,
          segmentSize,
          holes: subtract(holes, []),
        }),
        deliveries: back.map((piece) => ({ ...piece, count })),
        dead: take(back, deadCount).map((piece) => ({ ...piece, reason: 'test' })),
      }))
    })
  })

/** A record of some lanes with live, expired and acknowledged locks on what was handed out. */
export const anyRecord: fc.Arbitrary<QueueRecord> = fc
  .uniqueArray(fc.tuple(fc.nat(20), anyLane), { maxLength: 5, selector: ([priority]) => priority })
  .chain((lanes) =>
    fc
      .array(fc.tuple(fc.nat(4), fc.constantFrom(0, later(-5), later(5_000), later(20_000))), {
        maxLength: 6,
      })
      .map((wanted) => {
        let record = aRecord(Object.fromEntries(lanes))
        for (const [index, [count, expiresAtMs]] of wanted.entries()) {
          const stretches: Stretch[] = []
          for (const [priority, lane] of record.lanes) {
            const free = freeIn(record, lane)
            const below = subtract(free, [{ from: lane.frontier, to: Number.MAX_SAFE_INTEGER }])
            stretches.push(...take(below, count).map((piece) => ({ ...piece, priority })))
          }
          if (stretches.length === 0) continue
          const locks = new Map(record.locks)
          locks.set(`lock-00000${index}`, { expiresAtMs, stretches })
          record = { ...record, locks }
        }
        return { ...record, inFlight: inFlightOf(record), checkAtMs: later(-5) }
      }),
  )
