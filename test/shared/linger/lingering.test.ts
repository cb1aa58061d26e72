// The edge around both decisions, on simulated time: batches fly, calls are given up, answers come.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Batching } from '../../../shared/linger.ts'
import { blameOf, Lingering, UNANSWERED_BYTES_MAX } from '../../../shared/linger.ts'
import { createVirtualTime } from '../../../testing/simulated/virtual-time.ts'

const load = { items: 1, bytes: 10 }

function aStage(batching: Partial<Batching> = {}) {
  const time = createVirtualTime(0)
  const sent: { queue: string; calls: readonly string[]; atMs: number; signal: AbortSignal }[] = []
  let flightMs = 10
  const fails = new Map<string, unknown>()
  const stored: string[] = []
  const lingering = new Lingering<string, string>(
    { waitMs: 5, itemsMax: 100, bytesMax: 10_000, ...batching },
    {
      ...time,
      async send(queue, calls, { signal }) {
        sent.push({ queue, calls, atMs: time.nowMs(), signal })
        await time.sleep(flightMs)
        const failing = calls.find((call) => fails.has(call))
        if (failing !== undefined) throw fails.get(failing)
        stored.push(...calls)
        return calls.map((call) => ({ kind: 'answer', answer: `answer to ${call}` }))
      },
      blame: (error) => blameOf(error as { code: string }),
      givenUp: (_, wasSent) => new Error(wasSent ? 'unknown' : 'never sent'),
      tooMany: (message) => new Error(message),
    },
  )
  const heard: string[] = []
  const push = (call: string, signal?: AbortSignal, queue = 'q') =>
    lingering.push(queue, call, load, signal).then(
      (answer) => void heard.push(answer),
      (error: Error) => void heard.push(`${call}: ${error.message}`),
    )
  return {
    ...{ time, sent, stored, heard, fails, push, lingering },
    flight: (ms: number) => {
      flightMs = ms
    },
    batches: () => sent.map(({ calls }) => calls.join(' ')),
  }
}

describe('Pushes that linger', () => {
  test('go together if they come within the time, each with its own answer', async () => {
    const { time, push, batches, heard } = aStage()
    push('a')
    await time.run(3)
    push('b')
    await time.run(100)
    expect(batches()).toEqual(['a b'])
    expect(heard).toEqual(['answer to a', 'answer to b'])
  })

  test('go apart for each queue', async () => {
    const { time, push, sent } = aStage()
    push('a', undefined, 'one')
    push('b', undefined, 'two')
    await time.run(100)
    expect(sent.map(({ queue, atMs }) => [queue, atMs])).toEqual([
      ['one', 5],
      ['two', 5],
    ])
  })

  test('wait for the batch under way, and for those whom its answer sets free', async () => {
    const { time, push, sent } = aStage()
    push('a').then(() => push('c'))
    await time.run(6)
    push('b')
    await time.run(100)
    expect(sent.map(({ calls, atMs }) => [calls.join(' '), atMs])).toEqual([
      ['a', 5],
      ['b c', 20],
    ])
  })

  test('without a time to wait are those of one turn, and those that came during a batch', async () => {
    const { time, push, sent } = aStage({ waitMs: 0 })
    push('a')
    push('b')
    await time.run(5)
    push('c')
    await time.run(8)
    push('d')
    await time.run(100)
    expect(sent.map(({ calls, atMs }) => [calls.join(' '), atMs])).toEqual([
      ['a b', 0],
      ['c d', 10],
    ])
  })

  test('leave out a call that was given up before it went, and nothing was changed by it', async () => {
    const { time, push, batches, heard } = aStage()
    const stop = new AbortController()
    push('a')
    push('b', stop.signal)
    push('c')
    stop.abort()
    await time.run(100)
    expect(batches()).toEqual(['a c'])
    expect(heard[0]).toBe('b: never sent')
  })

  test('refuse a call that was given up before it came', async () => {
    const { time, push, batches, heard } = aStage()
    push('a', AbortSignal.abort())
    await time.run(100)
    expect([batches(), heard]).toEqual([[], ['a: never sent']])
  })

  test('go on without a caller who gave up on the way, and who cannot know the outcome', async () => {
    const { time, push, sent, heard } = aStage()
    const stop = new AbortController()
    push('a', stop.signal)
    push('b')
    await time.run(7)
    stop.abort()
    await time.run(100)
    expect(heard).toEqual(['a: unknown', 'answer to b'])
    expect(sent[0]?.signal.aborted).toBe(false)
  })

  test('are given up as a batch once nobody waits for any of them', async () => {
    const { time, push, sent } = aStage()
    const stop = new AbortController()
    push('a', stop.signal)
    push('b', stop.signal)
    await time.run(7)
    stop.abort()
    expect(sent[0]?.signal.aborted).toBe(true)
  })

  test('go at once when somebody flushes, who waits for all answers, bad ones too', async () => {
    const { time, push, sent, heard, fails, lingering } = aStage({ waitMs: 1_000 })
    fails.set('c', Object.assign(new Error('no'), { code: 'RATE_LIMITED' }))
    push('a')
    await time.run(1)
    lingering.flush()
    push('b')
    push('c')
    const flushed = lingering.flush().then(() => heard.push('flushed'))
    await time.run(100)
    await flushed
    expect(sent.map(({ calls, atMs }) => [calls.join(' '), atMs])).toEqual([
      ['a', 1],
      ['b c', 11],
    ])
    expect(heard).toEqual(['answer to a', 'b: no', 'c: no', 'flushed'])
  })

  test('are refused, one call alone, when too much waits for its answer', async () => {
    const { time, push, lingering, heard } = aStage()
    push('a')
    const huge = { items: 1, bytes: UNANSWERED_BYTES_MAX }
    await expect(lingering.push('q', 'b', huge)).rejects.toThrow('1 pushes with 10 bytes wait')
    await time.run(100)
    expect(heard).toEqual(['answer to a'])
    // What has its answer does not count any more.
    const later = lingering.push('q', 'b', huge)
    await time.run(200)
    expect(await later).toBe('answer to b')
  })
})

const plans = fc.array(
  fc.record({
    afterMs: fc.integer({ min: 0, max: 9 }),
    queue: fc.constantFrom('one', 'two'),
    stopAfterMs: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
    fails: fc.constantFrom('', '', '', 'QUEUE_FULL', 'RATE_LIMITED', 'INVALID_ITEM'),
  }),
  { minLength: 1, maxLength: 30 },
)

test('In every case, each call gets one answer, and the order of calls is the order of items', async () => {
  await fc.assert(
    fc.asyncProperty(plans, fc.integer({ min: 0, max: 6 }), async (plan, waitMs) => {
      const { time, stored, heard, fails, push } = aStage({ waitMs, itemsMax: 4 })
      for (const [index, { afterMs, queue, stopAfterMs, fails: code }] of plan.entries()) {
        await time.run(time.nowMs() + afterMs)
        if (code !== '') fails.set(`${index}`, Object.assign(new Error(code), { code }))
        const stop = new AbortController()
        if (stopAfterMs !== undefined) void time.sleep(stopAfterMs).then(() => stop.abort())
        push(`${index}`, stop.signal, queue)
      }
      await time.run(time.nowMs() + 10_000)
      expect(heard.length).toBe(plan.length)
      for (const queue of ['one', 'two']) {
        const own = stored.map(Number).filter((call) => plan[call]?.queue === queue)
        expect(own).toEqual([...own].sort((a, b) => a - b))
      }
      // One call's own fault harms no other.
      if (plan.some(({ fails: code }) => code === 'RATE_LIMITED' || code === 'QUEUE_FULL')) return
      for (const [index, { fails: code, stopAfterMs }] of plan.entries()) {
        if (code === '' && stopAfterMs === undefined) expect(stored).toContain(`${index}`)
      }
    }),
  )
})
