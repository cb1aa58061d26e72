import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeReference, spanOf } from '../../../engine/core/item.ts'
import { LANES_MAX } from '../../../engine/core/limits.ts'
import { sealed } from '../../../engine/core/plan-seal.ts'
import { countOf, numbersOf } from '../../../engine/core/ranges.ts'
import type { Lane, Run } from '../../../engine/core/record.ts'
import {
  isInS3,
  LANE_RUNS_MAX,
  longestInS3,
  RUNS_MAX,
  runsAfter,
  runsLeft,
  stayingSegments,
  storedIn,
} from '../../../engine/core/runs.ts'
import { decodeRuns, encodeLane, encodeRuns } from '../../../engine/core/stored-record.ts'
import { valueSize } from '../../../testing/simulated/dynamodb/values.ts'
import { aLane, anEntry, aRecord, range, tailOf } from './a-record.ts'

const batch = (storage: 'rows' | 's3', count: number): string =>
  encodeReference({ storage, batch: 'batch-00', count, partItems: 100, partBytes: [9] })

const run = (from: number, to: number, place: Run['in']): Run => ({ from, to, in: place })

/** A lane once these lists of entries were sealed, one after the other. */
function sealing(lane: Lane, ...seals: readonly (readonly string[])[]): Lane {
  let next = lane
  for (const entries of seals) {
    const sealed = next.sealed + entries.reduce((sum, entry) => sum + spanOf(entry), 0)
    next = { ...next, runs: runsAfter(next, entries), sealed }
  }
  return next
}

describe('A seal notes', () => {
  it('where its entries lie, and neighbours of one kind as one run.', () => {
    const { runs } = sealing(
      aLane(),
      [anEntry(), anEntry()],
      [anEntry(), batch('rows', 5), batch('rows', 7)],
      [batch('s3', 900), batch('s3', 100), anEntry()],
    )
    expect(runs).toEqual([
      run(0, 3, 'rows'),
      run(3, 15, 'batch-rows'),
      run(15, 1_015, 'batch-s3'),
      run(1_015, 1_016, 'rows'),
    ])
  })

  it('that it does not know of what an engine sealed which noted nothing.', () => {
    const old = aLane({ sealed: 40, head: 10, runs: [run(0, 20, 'rows')] })
    expect(sealing(old, [anEntry()]).runs).toEqual([
      run(0, 20, 'rows'),
      run(20, 40, 'unknown'),
      run(40, 41, 'rows'),
    ])
    expect(sealing({ ...old, head: 40, runs: [] }, [anEntry()]).runs).toEqual([run(40, 41, 'rows')])
    expect(sealing({ ...old, head: 30, runs: [] }, [anEntry()]).runs[0]).toEqual(
      run(30, 40, 'unknown'),
    )
  })

  it('nothing of what is settled, and forgets what the head has passed.', () => {
    const lane = aLane({ sealed: 20, head: 25, runs: [run(0, 20, 'rows')] })
    expect(sealing(lane, [batch('rows', 5), batch('s3', 5)]).runs).toEqual([
      run(25, 30, 'batch-s3'),
    ])
  })

  it('a bounded number of runs: the shortest neighbours become one, which answers leave out.', () => {
    const entries = Array.from({ length: 90 }, (_, n) => [anEntry(), batch('s3', 50 + n)])
    const lane = sealing(aLane(), [batch('rows', 5_000)], ...entries)
    const { runs } = lane
    expect(runs.length).toBeLessThanOrEqual(LANE_RUNS_MAX)
    expect(runs.length).toBeGreaterThan(LANE_RUNS_MAX - 3)
    expect(runs[0]).toEqual(run(0, 5_000, 'batch-rows'))
    expect(runs.filter((it) => it.in === 'batches').length).toBeGreaterThan(0)
    for (const [i, { from }] of runs.entries()) if (i > 0) expect(from).toBe(runs[i - 1]?.to)
    expect(runs.at(-1)?.to).toBe(5_000 + 90 + entries.length * 50 + (89 * 90) / 2)
    expect(storedIn(lane).map((it) => it.in)).not.toContain('batches')
  })

  it('no runs beyond what is sealed, whatever a record says, and comes to an end.', () => {
    const torn = aLane({ sealed: 10, runs: [run(0, 5, 'rows'), run(5, 90, 'batch-s3')] })
    expect(runsAfter(torn, [anEntry()], 1)).toEqual([run(0, 11, 'unknown')])
  })

  it('as many runs as the other lanes leave: several, then one, then none.', () => {
    expect([0, 32, 36, 39, 40, 79, 80, 1_000].map(runsLeft)).toEqual([8, 8, 4, 1, 1, 1, 0, 0])
    const lane = aLane({ sealed: 40, runs: [run(0, 20, 'rows'), run(20, 40, 'batch-s3')] })
    expect(runsAfter(lane, [batch('rows', 5)], 1)).toEqual([run(0, 45, 'batches')])
    expect(runsAfter(lane, [batch('rows', 5)], 0)).toEqual([])
  })
})

describe('Runs that are joined', () => {
  /** What stays of 20,000 items in segments of 100, of pushes that took turns. */
  function stayingOf(...turn: (readonly string[])[]): number {
    let lane = aLane({ segmentSize: 100 })
    while (lane.sealed < 20_000) lane = sealing(lane, ...turn)
    return countOf(stayingSegments(lane)) / Math.floor(lane.sealed / 100)
  }
  const singles = (count: number) => Array.from({ length: count }, () => anEntry())

  it('stay where they are if all of them lie in batches, some in rows and some in S3.', () => {
    expect(stayingOf([batch('rows', 100)], [batch('s3', 100)])).toBe(1)
    expect(stayingOf([batch('rows', 100), batch('s3', 30), batch('rows', 70)])).toBe(1)
  })

  it('stay if any of them lies in a batch in S3, or most of them in batches in rows.', () => {
    expect(stayingOf(singles(40), [batch('s3', 100)])).toBeGreaterThan(0.9)
    expect(stayingOf(singles(40), [batch('rows', 100)])).toBeGreaterThan(0.9)
  })

  it('are offloaded if most of them lie in rows.', () => {
    expect(stayingOf(singles(100), [batch('rows', 40)])).toBe(0)
  })
})

it('The runs of a record take less than a kilobyte, however many lanes it has and however they are filled.', () => {
  const tail = Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? anEntry() : batch('s3', 90_000)))
  let record = aRecord(Array.from({ length: LANES_MAX }, () => aLane()))
  for (const lane of record.lanes.values()) {
    const tails = [{ lane: { ...lane, tail }, entries: tail }]
    record = sealed(record, { tails, notes: [] })
  }
  let held = 0
  let bytes = 0
  for (const lane of record.lanes.values()) {
    held += lane.runs.length
    const { y, ...without } = encodeLane(lane)
    bytes += valueSize({ ...without, ...(y && { y }) }) - valueSize(without)
  }
  expect(held).toBe(RUNS_MAX)
  expect(bytes).toBeLessThan(1_024)
})

it('Runs are read back as they were written, at some four bytes each.', () => {
  const places = fc.constantFrom('rows', 'batch-rows', 'batch-s3', 'batches', 'unknown')
  const kinds = fc.array(fc.tuple(fc.integer({ min: 1, max: 5_000 }), places), { maxLength: 40 })
  fc.assert(
    fc.property(fc.nat(1_000_000), kinds, (start, lengths) => {
      const runs: Run[] = []
      for (const [length, place] of lengths) {
        const from = runs.at(-1)?.to ?? start
        runs.push(run(from, from + length, place as Run['in']))
      }
      const stored = encodeRuns(runs)
      expect(decodeRuns(stored)).toEqual(runs)
      expect(stored?.length ?? 0).toBeLessThanOrEqual(5 + 4 * runs.length)
    }),
  )
})

describe('Segments stay in batches', () => {
  const staying = (...runs: Run[]): number[] => [
    ...numbersOf(stayingSegments(aLane({ segmentSize: 10, runs }))),
  ]
  it('if all of their items do, in rows or S3.', () => {
    expect(staying(run(0, 45, 'rows'), run(45, 72, 'batch-rows'))).toEqual([5, 6])
    expect(staying(run(5, 18, 'batch-rows'), run(18, 30, 'batch-s3'))).toEqual([1, 2])
  })

  it('if any of their items is in a batch in S3.', () => {
    expect(staying(run(0, 45, 'rows'), run(45, 46, 'batch-s3'), run(46, 60, 'rows'))).toEqual([4])
  })

  it('never if the record does not know.', () => {
    expect(staying(run(0, 100, 'unknown'), run(100, 190, 'rows'))).toEqual([])
  })
})

describe('A lane tells where its items lie', () => {
  const bulk = sealing(aLane({ segmentSize: 10, head: 3 }), [batch('s3', 95), anEntry()])

  it('with the tail and its references.', () => {
    const tail = [...tailOf(2), batch('rows', 4), batch('s3', 30)]
    expect(storedIn({ ...bulk, tail })).toEqual([
      { from: 3, to: 95, in: 'batch-s3' },
      { from: 95, to: 96, in: 'rows' },
      { from: 96, to: 98, in: 'record' },
      { from: 98, to: 102, in: 'batch-rows' },
      { from: 102, to: 132, in: 'batch-s3' },
    ])
  })

  it('and which of its middle segments are in S3, however they came there.', () => {
    const longest = (lane: Lane) => longestInS3(lane, storedIn(lane))
    // Not the head's segment, and not the one that a single push shares.
    expect(longest(bulk)).toEqual(range(1, 9))
    expect(longest({ ...bulk, head: 62 })).toEqual(range(7, 9))
    const mixed = { ...bulk, sealed: 200, runs: [run(0, 200, 'rows')] }
    expect(longest(mixed)).toBeUndefined()
    const later = [run(0, 20, 'rows'), run(20, 50, 'batch-s3'), run(50, 200, 'rows')]
    expect(longest({ ...mixed, runs: later, offloaded: range(5, 9) })).toEqual(range(2, 9))
    expect(longest({ ...mixed, runs: later, offloaded: range(8, 20) })).toEqual(range(8, 19))
  })

  it('so that we know which reads need items from S3.', () => {
    expect(isInS3(bulk, range(94, 95))).toBe(true)
    expect(isInS3(bulk, range(95, 96))).toBe(false)
    expect(isInS3({ ...bulk, tail: [batch('s3', 5)] }, range(100, 101))).toBe(true)
  })
})
