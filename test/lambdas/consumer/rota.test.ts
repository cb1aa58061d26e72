import { describe, expect, it } from 'vitest'
import { Rota } from '../../../shared/worker/many.ts'

const has = (queue: string, count = 1, lockedCount = 0) => ({ queue, count, lockedCount })
const ALWAYS = 0.999

describe('A rota', () => {
  it.each([
    ['has its turn.', has('a', 2, 0), ['a'], ['a']],
    ['that is empty has none.', has('a', 0), [], []],
    ['whose record could not be read has none.', { queue: 'a' }, [], []],
    ['with a live lock has one only where consumers compete.', has('a', 2, 1), [], ['a']],
    ['whose items are all locked has none.', has('a', 2, 2), [], []],
    ['whose items all wait for a retry has none.', { ...has('a', 2), waitingCount: 2 }, [], []],
    ['in which some do has one.', { ...has('a', 2), waitingCount: 1 }, ['a'], ['a']],
    [
      'that is blocked by those has one only where consumers compete.',
      { ...has('a', 2), waitingCount: 1, isBlocked: true },
      [],
      ['a'],
    ],
    ['with locked items beside those has none.', { ...has('a', 2, 1), waitingCount: 1 }, [], []],
  ] as const)('shows that a queue %s', (_, standing, exclusive, competing) => {
    for (const [isCompeting, expected] of [
      [false, exclusive],
      [true, competing],
    ] as const) {
      const rota = new Rota({ competing: isCompeting })
      rota.seen([standing], 0)
      expect([rota.next()].filter((queue) => queue !== undefined)).toEqual(expected)
    }
  })

  it('gives turns in the order in which queues were seen, and each queue one place in the line.', () => {
    const rota = new Rota({ competing: false })
    rota.seen([has('b'), has('a')], 0)
    rota.seen([has('a'), has('b'), has('c')], 1)
    expect([rota.next(), rota.next(), rota.next(), rota.next()]).toEqual(['b', 'a', 'c', undefined])
    rota.seen([has('a')], 2)
    expect(rota.next()).toBeUndefined()
  })

  it('sends a queue whose turn is over to the end of the line.', () => {
    const rota = new Rota({ competing: false })
    rota.seen([has('a'), has('b')], 0)
    const first = rota.next() as string
    rota.ended(first, { ending: 'continued', batches: 9 }, 1, ALWAYS)
    expect([rota.next(), rota.next()]).toEqual(['b', 'a'])
  })

  it('looks at a queue again at once after a turn with work, and ever later after turns without.', () => {
    const rota = new Rota({ competing: false })
    const turnAt = (nowMs: number, batches: number) => {
      rota.seen([has('a')], nowMs)
      const had = rota.next() === 'a'
      if (had) rota.ended('a', { ending: 'locked', batches }, nowMs, ALWAYS)
      return had
    }
    expect([turnAt(0, 1), turnAt(0, 0), turnAt(200, 0), turnAt(300, 0)]).toEqual([
      true,
      true,
      false,
      true,
    ])
    expect([turnAt(700, 0), turnAt(900, 1), turnAt(900, 1)]).toEqual([false, true, true])
  })

  it('waits for a minute at most after errors.', () => {
    const rota = new Rota({ competing: false })
    let [nowMs, lastMs, longestMs] = [0, 0, 0]
    for (let turns = 0; turns < 12; nowMs += 250) {
      rota.seen([has('a')], nowMs)
      if (rota.next() === undefined) continue
      rota.ended('a', { ending: 'failed', batches: 1 }, nowMs, ALWAYS)
      longestMs = Math.max(longestMs, nowMs - lastMs)
      lastMs = nowMs
      turns += 1
    }
    expect(longestMs).toBeGreaterThan(55_000)
    expect(longestMs).toBeLessThan(61_000)
  })

  it('puts a queue off for the given time.', () => {
    const rota = new Rota({ competing: true })
    rota.seen([has('a')], 0)
    rota.next()
    rota.putOff('a', 4_000)
    rota.ended('a', { ending: 'waiting', batches: 1 }, 0, ALWAYS)
    rota.seen([has('a', 3, 0)], 3_999)
    expect(rota.next()).toBeUndefined()
    rota.seen([has('a', 3, 0)], 4_000)
    expect(rota.next()).toBe('a')
  })
})
