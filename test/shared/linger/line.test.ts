// Which calls go together, and when: by hand first, then whatever comes.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Batching,
  type Line,
  type Load,
  newLine,
  nextStep,
  type Waiting,
} from '../../../shared/linger.ts'

const batching: Batching = { waitMs: 5, itemsMax: 10, bytesMax: 1_000 }
const one: Load = { items: 1, bytes: 100 }

function lineOf(loads: readonly Load[], more: Partial<Line> = {}): Line {
  const line = { ...newLine(), ...more }
  for (const load of loads) line.waiting.add({ load, joinedMs: 100, isHurried: false })
  return line
}

const soon = { ms: 100, isNewTurn: false }
const due = { ms: 105, isNewTurn: true }
const go = (calls: number) => ({ kind: 'go', calls })

describe('The calls that wait for a queue', () => {
  test('rest while nobody has called', () => {
    expect(nextStep(lineOf([]), batching, due)).toEqual({ kind: 'rest' })
  })

  test('rest while a batch is under way, even if they are full and late', () => {
    const full = Array.from({ length: 20 }, () => one)
    expect(nextStep(lineOf(full, { isFlying: true }), batching, due)).toEqual({ kind: 'rest' })
  })

  test('wait for more from when the first of them came', () => {
    expect(nextStep(lineOf([one]), batching, soon)).toEqual({ kind: 'wait', untilMs: 105 })
  })

  test('wait from the answer of the batch before, if that came later', () => {
    const line = lineOf([one], { freeSinceMs: 120 })
    expect(nextStep(line, batching, { ms: 121, isNewTurn: true })).toEqual({
      kind: 'wait',
      untilMs: 125,
    })
  })

  test('go together once the time is over', () => {
    expect(nextStep(lineOf([one, one, one]), batching, due)).toEqual(go(3))
  })

  test('go when the clock was set back, rather than wait for it to come round', () => {
    expect(nextStep(lineOf([one]), batching, { ms: 99, isNewTurn: true })).toEqual(go(1))
  })

  test('do not go in the turn in which they came, though the time is over: others may come in it', () => {
    const atOnce = { ...batching, waitMs: 0 }
    expect(nextStep(lineOf([one]), atOnce, soon)).toEqual({ kind: 'wait', untilMs: 100 })
  })

  test('go at once when they have as many items as a batch may have', () => {
    expect(nextStep(lineOf([one, { items: 9, bytes: 9 }]), batching, soon)).toEqual(go(2))
  })

  test('go at once when they have as many bytes as a batch may have', () => {
    expect(nextStep(lineOf([one, { items: 1, bytes: 900 }]), batching, soon)).toEqual(go(2))
  })

  test('go without the call that would make the batch too large', () => {
    expect(nextStep(lineOf([one, { items: 10, bytes: 10 }]), batching, soon)).toEqual(go(1))
  })

  test('go without the call that goes alone, and it goes without those behind it', () => {
    const alone = { ...one, alone: true }
    expect(nextStep(lineOf([one, alone, one]), batching, soon)).toEqual(go(1))
    expect(nextStep(lineOf([alone, one]), batching, soon)).toEqual(go(1))
  })

  test('go as one call if that is larger than a batch may be', () => {
    expect(nextStep(lineOf([{ items: 50, bytes: 1 }, one]), batching, soon)).toEqual(go(1))
  })

  test('go at once when somebody flushes', () => {
    const line = lineOf([one])
    for (const waiting of line.waiting) waiting.isHurried = true
    expect(nextStep(line, batching, soon)).toEqual(go(1))
  })
})

type Event =
  | { readonly kind: 'call'; readonly load: Load }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'answer' }

const loads = fc.record({
  items: fc.integer({ min: 1, max: 12 }),
  bytes: fc.integer({ min: 1, max: 1_200 }),
  alone: fc.boolean(),
})
const events = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('call'), load: loads }) },
    fc.record({ kind: fc.constant('pass'), ms: fc.integer({ min: 0, max: 8 }) }),
    fc.record({ kind: fc.constant('answer') }),
  ),
  { maxLength: 60 },
) as fc.Arbitrary<Event[]>

/** Plays the events on one line, as the edge does, and checks each batch as it goes. */
function play(list: readonly Event[]): readonly Waiting[] {
  const line = newLine()
  const gone: Waiting[] = []
  let ms = 0
  const proceed = (isNewTurn: boolean) => {
    const step = nextStep(line, batching, { ms, isNewTurn })
    if (step.kind === 'rest') expect(line.isFlying || line.waiting.size === 0).toBe(true)
    if (step.kind !== 'go') return
    const all = [...line.waiting]
    const batch = all.slice(0, step.calls)
    expectFit(batch, all[step.calls])
    const first = batch[0] as Waiting
    const isDue = isNewTurn && ms >= Math.max(first.joinedMs, line.freeSinceMs) + batching.waitMs
    expect(isDue || isFull(batch) || all.length > batch.length).toBe(true)
    for (const waiting of batch) line.waiting.delete(waiting)
    gone.push(...batch)
    line.isFlying = true
  }
  const land = () => {
    line.isFlying = false
    line.freeSinceMs = ms
    proceed(false)
  }
  for (const event of list) {
    if (event.kind === 'call') {
      line.waiting.add({ load: event.load, joinedMs: ms, isHurried: false })
      proceed(false)
    } else if (event.kind === 'pass') {
      ms += event.ms
      proceed(true)
    } else if (line.isFlying) land()
  }
  while (line.isFlying || line.waiting.size > 0) {
    if (line.isFlying) land()
    ms += batching.waitMs
    proceed(true)
  }
  return gone
}

const sumOf = (batch: readonly Waiting[], what: 'items' | 'bytes') =>
  batch.reduce((sum, { load }) => sum + load[what], 0)

const isWithin = (batch: readonly Waiting[]) =>
  sumOf(batch, 'items') <= batching.itemsMax && sumOf(batch, 'bytes') <= batching.bytesMax

const isFull = (batch: readonly Waiting[]) =>
  batch[0]?.load.alone ||
  sumOf(batch, 'items') >= batching.itemsMax ||
  sumOf(batch, 'bytes') >= batching.bytesMax

/** One call, or calls that may go together; and the next one could not have come along. */
function expectFit(batch: readonly Waiting[], next: Waiting | undefined): void {
  const isPlain = batch.every(({ load }) => !load.alone)
  expect(batch.length === 1 || (isPlain && isWithin(batch))).toBe(true)
  if (next !== undefined) {
    expect(isFull(batch) || next.load.alone || !isWithin([...batch, next])).toBe(true)
  }
}

test('For any calls, each goes once, in order, in batches as large as allowed and no larger', () => {
  fc.assert(
    fc.property(events, (list) => {
      const called = list.filter((event) => event.kind === 'call').map(({ load }) => load)
      expect(play(list).map(({ load }) => load)).toEqual(called)
    }),
  )
})
