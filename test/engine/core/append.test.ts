import { describe, expect, it } from 'vitest'
import {
  type Append,
  appendOf,
  crossesSealLine,
  findAppend,
  obstacleTo,
  startsAfterAppend,
  type TailLimits,
  tailBytesAllowed,
} from '../../../engine/core/append.ts'
import { encodeReference } from '../../../engine/core/item.ts'
import { LANES_MAX, ROOMY_TAIL, TAIL_SOFT_BYTES, TIGHT_TAIL } from '../../../engine/core/limits.ts'
import { aLane, anEntry, aRecord, tailOf } from './a-record.ts'

const reference = encodeReference({
  storage: 'rows',
  batch: 'batch-00',
  count: 30,
  partItems: 100,
  partBytes: [],
})
const to = (...priorities: number[]): Append =>
  appendOf(new Map(priorities.map((priority) => [priority, [anEntry()]])))

const lanes = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, p) => [p, aLane()]))

it('An append counts its items and bytes, those of batches too.', () => {
  const append = appendOf(
    new Map([
      [0, [anEntry(), reference]],
      [3, [anEntry('22')]],
    ]),
  )
  expect(append.items).toBe(32)
  expect(append.bytes).toBe(2 * (13 + 8) + 3 + reference.length + 8)
})

describe('What stands in the way of an append is', () => {
  const full = { ...aRecord(lanes(1)), tailBytes: ROOMY_TAIL.hardBytes }
  const cases: readonly [
    string,
    ReturnType<typeof obstacleTo>['kind'],
    Append,
    Parameters<typeof obstacleTo>[1],
  ][] = [
    ['a record that is not there', 'no-record', to(0), undefined],
    ['nothing', 'none', to(0), aRecord(lanes(1))],
    ['a missing lane', 'no-lanes', to(0, 5), aRecord(lanes(1))],
    ['a full queue, before anything else', 'full', to(0, 5), { ...full, room: 1 }],
    ['too many lanes', 'too-many-lanes', to(LANES_MAX), aRecord(lanes(LANES_MAX))],
    ['nothing for a lane among many', 'none', to(LANES_MAX - 1), aRecord(lanes(LANES_MAX))],
    ['a full tail', 'tail-full', to(0), full],
    ['nothing where it brings nothing', 'none', appendOf(new Map([[0, []]])), { ...full, room: 0 }],
  ]
  it.each(cases)('%s: %s.', (_, kind, append, record) => {
    expect(obstacleTo(append, record, ROOMY_TAIL).kind).toBe(kind)
  })
})

it('A tail that is throttled is tighter, and a very large append waits for the soft cap alone.', () => {
  expect(tailBytesAllowed(to(0), ROOMY_TAIL)).toBe(ROOMY_TAIL.hardBytes - 22)
  expect(tailBytesAllowed(to(0), TIGHT_TAIL)).toBe(TIGHT_TAIL.hardBytes - 22)
  const huge = { ...to(0), bytes: 60_000 }
  expect(tailBytesAllowed(huge, TIGHT_TAIL)).toBe(TAIL_SOFT_BYTES)
})

describe('Exactly one append crosses each line', () => {
  const ENOUGH = 40_000
  const linesOf = ({ stepBytes }: TailLimits): number[] => {
    const lines: number[] = []
    for (let line = TAIL_SOFT_BYTES; line < ENOUGH; line += stepBytes) lines.push(line)
    return lines
  }

  it('however the bytes come.', () => {
    for (const bytes of [1, 7, 100, 999, 5_000]) {
      for (const limits of [ROOMY_TAIL, TIGHT_TAIL]) {
        const sealers: number[] = []
        for (let after = bytes; after < ENOUGH; after += bytes) {
          if (crossesSealLine(after, bytes, limits)) sealers.push(after)
        }
        const expected = linesOf(limits).map((line) => Math.ceil(line / bytes) * bytes)
        expect(sealers).toEqual([...new Set(expected)].filter((after) => after < ENOUGH))
      }
    }
  })
})

describe('After an append, its items are found', () => {
  const entries = [anEntry('"mine"'), reference]
  const append = appendOf(new Map([[4, entries]]))
  const lane = aLane({ sealed: 10, tail: [...tailOf(3), ...entries] })

  it('at the end of the lane, from the answer.', () => {
    expect(startsAfterAppend(append, aRecord({ 4: lane }))).toEqual(new Map([[4, 13]]))
  })

  it('wherever they are by then, when the answer was lost.', () => {
    const later = aRecord({ 4: { ...lane, tail: [...lane.tail, ...tailOf(2)] } })
    expect(findAppend(append, later)).toEqual(new Map([[4, 13]]))
    const pruned = aRecord({ 4: { ...lane, sealed: 12, tail: lane.tail.slice(2) } })
    expect(findAppend(append, pruned)).toEqual(new Map([[4, 13]]))
  })

  it('only whole, and by their tags: otherwise nobody can tell.', () => {
    const partly = aRecord({ 4: { ...lane, tail: lane.tail.slice(0, 4) } })
    expect(findAppend(append, partly)).toBeUndefined()
    expect(findAppend(append, aRecord({ 5: lane }))).toBeUndefined()
    const both = appendOf(
      new Map([
        [4, entries],
        [5, entries],
      ]),
    )
    expect(findAppend(both, aRecord({ 4: lane, 5: aLane() }))).toBeUndefined()
  })
})
