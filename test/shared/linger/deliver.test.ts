// A batch that is refused for what may be one call's own: each call hears what is true of itself.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Load } from '../../../shared/linger.ts'
import { type Blame, blameOf, deliver, type Outcome } from '../../../shared/linger.ts'

type Call = {
  readonly name: number
  readonly load: Load
  readonly isBad: boolean
}

class Refused extends Error {
  readonly blame: Blame
  constructor(blame: Blame, name: string) {
    super(name)
    this.blame = blame
  }
}

/** A queue with room for so many items, which refuses a batch with a bad call in it. */
class Fake {
  readonly stored: number[] = []
  readonly sent: (readonly number[])[] = []
  readonly patient: boolean[] = []
  readonly told = new Map<number, Outcome<string>>()
  readonly givenUp = new Set<number>()
  room: number
  /** The sending, counted from 1, for which the store is away. */
  awayFor: number | undefined

  constructor(room: number) {
    this.room = room
  }

  async send(calls: readonly Call[], isPatient: boolean): Promise<Outcome<string>[]> {
    this.sent.push(calls.map(({ name }) => name))
    this.patient.push(isPatient)
    if (this.sent.length === this.awayFor) throw new Refused('all', 'away')
    if (calls.some(({ isBad }) => isBad)) throw new Refused('some', 'bad')
    const items = calls.reduce((sum, { load }) => sum + (load.itemsNow ?? load.items), 0)
    if (items > 0 && items > this.room) throw new Refused('larger', 'full')
    this.room -= items
    this.stored.push(...calls.map(({ name }) => name))
    return calls.map(({ name }) => ({ kind: 'answer', answer: `id of ${name}` }))
  }

  deliver(calls: readonly Call[]): Promise<void> {
    return deliver<Call, string>(calls, {
      send: (part, isPatient) => this.send(part, isPatient),
      blame: (error) => (error instanceof Refused ? error.blame : 'all'),
      isWanted: ({ name }) => !this.told.has(name) && !this.givenUp.has(name),
      tell: ({ name }, outcome) => {
        expect(this.told.has(name)).toBe(false)
        this.told.set(name, outcome)
      },
    })
  }

  heard(name: number): string {
    const outcome = this.told.get(name)
    if (outcome?.kind === 'error') return (outcome.error as Error).message
    return outcome?.answer ?? 'nothing'
  }
}

const callsOf = (...items: readonly number[]): Call[] =>
  items.map((count, name) => ({ name, load: { items: count, bytes: 1 }, isBad: false }))

const ones = (count: number) => callsOf(...Array.from({ length: count }, () => 1))

describe('A batch', () => {
  test('that passes is one request, with an answer for each call', async () => {
    const fake = new Fake(10)
    await fake.deliver(ones(3))
    expect(fake.sent).toEqual([[0, 1, 2]])
    expect([0, 1, 2].map((name) => fake.heard(name))).toEqual(['id of 0', 'id of 1', 'id of 2'])
  })

  test('for which there is no room at all costs a request for each halving, and all hear so', async () => {
    const fake = new Fake(0)
    await fake.deliver(ones(1_000))
    expect(fake.sent.length).toBe(11)
    expect(new Set(fake.told.keys()).size).toBe(1_000)
    expect(fake.heard(999)).toBe('full')
  })

  test('for which there is some room goes in up to there', async () => {
    const fake = new Fake(700)
    await fake.deliver(ones(1_000))
    expect(fake.stored).toEqual(Array.from({ length: 700 }, (_, name) => name))
    expect(fake.heard(700)).toBe('full')
    expect(fake.sent.length).toBeLessThanOrEqual(20)
  })

  test('goes on behind a call that is too large with those that bring less', async () => {
    const fake = new Fake(5)
    await fake.deliver(callsOf(2, 8, 1, 9, 2))
    expect(fake.stored).toEqual([0, 2, 4])
    expect([1, 3].map((name) => fake.heard(name))).toEqual(['full', 'full'])
  })

  test('for which there is no room goes on with calls whose items are for later', async () => {
    const fake = new Fake(0)
    const [first, second, third] = callsOf(1, 3, 1)
    const forLater = (call: Call | undefined, itemsNow: number) =>
      ({ ...call, load: { ...call?.load, itemsNow } }) as Call
    await fake.deliver([first as Call, forLater(second, 0), forLater(third, 1)])
    expect(fake.stored).toEqual([1])
    expect([0, 2].map((name) => fake.heard(name))).toEqual(['full', 'full'])
  })

  test('with one bad call in it pushes all others, in order', async () => {
    const fake = new Fake(100)
    const calls = ones(9).map((call) => ({ ...call, isBad: call.name === 4 }))
    await fake.deliver(calls)
    expect(fake.stored).toEqual([0, 1, 2, 3, 5, 6, 7, 8])
    expect(fake.heard(4)).toBe('bad')
  })

  test('is told as one what concerns all, and goes no second time', async () => {
    const fake = new Fake(100)
    fake.awayFor = 1
    await fake.deliver(ones(3))
    expect(fake.sent.length).toBe(1)
    expect(fake.heard(2)).toBe('away')
  })

  test('that was cut goes on as one once the store was away', async () => {
    const fake = new Fake(2)
    fake.awayFor = 3
    await fake.deliver(ones(8))
    // All, a half, a quarter (away), and then the six that are left.
    expect(fake.sent.slice(0, 4).map((part) => part.length)).toEqual([8, 4, 2, 6])
    expect(fake.stored).toEqual([2, 3])
    expect([0, 1].map((name) => fake.heard(name))).toEqual(['away', 'away'])
  })

  test('asks patiently for a call that is alone, until one was refused', async () => {
    const fake = new Fake(100)
    const calls = ones(4).map((call) => ({ ...call, isBad: true }))
    await fake.deliver(calls)
    const alone = fake.sent.flatMap((part, index) => (part.length === 1 ? [index] : []))
    expect(alone.map((index) => fake.patient[index])).toEqual([true, false, false, false])
    expect(fake.patient[0]).toBe(false)
  })

  test('that was cut leaves out calls that were given up meanwhile', async () => {
    const fake = new Fake(3)
    fake.givenUp.add(3)
    await fake.deliver(ones(5))
    expect(fake.stored).toEqual([0, 1, 2])
    expect(fake.told.has(3)).toBe(false)
    expect(fake.heard(4)).toBe('full')
  })
})

test('A lost answer concerns all: nobody sends a part of such a batch again', () => {
  expect(blameOf({ code: 'QUEUE_FULL', outcome: 'unknown' })).toBe('all')
  expect(blameOf({ code: 'QUEUE_FULL' })).toBe('larger')
  expect(blameOf({ code: 'ITEM_TOO_LARGE' })).toBe('some')
  expect(blameOf({ code: 'RATE_LIMITED' })).toBe('all')
})

const anyCalls = fc.array(
  fc.record({
    items: fc.integer({ min: 1, max: 5 }),
    later: fc.integer({ min: 0, max: 5 }),
    isBad: fc.boolean(),
  }),
  { minLength: 1, maxLength: 40 },
)

test('For any batch, each call gets the outcome that it would have had alone and in turn', async () => {
  await fc.assert(
    fc.asyncProperty(anyCalls, fc.integer({ min: 0, max: 60 }), async (list, room) => {
      const calls = list.map(({ items, later, isBad }, name) => ({
        name,
        load: { items, itemsNow: Math.max(0, items - later), bytes: 1 },
        isBad,
      }))
      const together = new Fake(room)
      await together.deliver(calls)
      const apart = new Fake(room)
      for (const call of calls) await apart.deliver([call])
      expect(together.stored).toEqual(apart.stored)
      for (const { name, isBad } of calls) {
        // Of two reasons it may hear either.
        const either = isBad ? ['bad', 'full'] : [apart.heard(name)]
        expect(either).toContain(together.heard(name))
      }
      expect(together.sent.length).toBeLessThanOrEqual(2 * calls.length)
    }),
  )
})
