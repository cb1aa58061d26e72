import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PushItem } from '../../engine/queues.ts'
import { openSimulated } from './stage.ts'
import { bulky, drain, push, textsOf } from './traffic.ts'

// Items that come due in one second join in the order in which they were scheduled for it, wherever they lie.

function aQueue() {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine(), stage.queue()]
  const atMs = stage.clock.now + 100_000
  const id = async (item: PushItem) => (await push(queues, queue, [item])).ids[0] as string
  /** Copies what the record holds out to rows, by items for other seconds. */
  const seal = async (of = queue) => {
    for (let n = 0; n < 40; n += 1) {
      await push(queues, of, [{ text: bulky(`f${n}`, 60), delaySeconds: 5_000 + n, priority: 9 }])
      if ((await stage.record(of)).scheduled.entries.length === 0) return
    }
    throw new Error('No push has sealed')
  }
  const listed = async (of = queue) =>
    (await queues.scheduled(of, { toMs: atMs })).items.map(({ text }) => text)
  const joined = async (of = queue) => {
    stage.clock.pass(200_000)
    return textsOf(await drain(queues, of))
  }
  return { stage, queues, queue, atMs, id, seal, listed, joined }
}

const a = (atMs: number): PushItem => ({ text: '"a"', deliverAtMs: atMs })

describe('An item that is moved to a second comes behind those that were scheduled for it before', () => {
  for (const [where, isSealed] of [
    ['in the record', false],
    ['in rows', true],
  ] as const) {
    it(`and are ${where}, if it was scheduled.`, async () => {
      const { queues, queue, atMs, id, seal, listed, joined } = aQueue()
      await id(a(atMs))
      if (isSealed) await seal()
      const b = await id({ text: '"b"', deliverAtMs: atMs + 50_000 })
      await queues.move(queue, { ids: [b], deliverAtMs: atMs })
      await id({ text: '"c"', deliverAtMs: atMs })
      expect(await listed()).toEqual(['"a"', '"b"', '"c"'])
      expect(await joined()).toEqual(['"a"', '"b"', '"c"'])
    })

    it(`and are ${where}, if it was waiting.`, async () => {
      const { queues, queue, atMs, id, seal, listed, joined } = aQueue()
      await id(a(atMs))
      if (isSealed) await seal()
      const b = await id({ text: '"b"' })
      await queues.move(queue, { ids: [b], deliverAtMs: atMs })
      await id({ text: '"c"', deliverAtMs: atMs })
      expect(await listed()).toEqual(['"a"', '"b"', '"c"'])
      expect(await joined()).toEqual(['"a"', '"b"', '"c"'])
    })
  }

  it('in another queue, too.', async () => {
    const { stage, queues, queue, atMs, id, listed, joined } = aQueue()
    const there = stage.queue()
    await push(queues, there, [a(atMs)])
    const [b, c] = [
      await id({ text: '"b"' }),
      await id({ text: '"c"', deliverAtMs: atMs + 50_000 }),
    ]
    await queues.move(queue, { ids: [b, c], queue: there, deliverAtMs: atMs })
    expect(await listed(there)).toEqual(['"a"', '"b"', '"c"'])
    expect(await joined(there)).toEqual(['"a"', '"b"', '"c"'])
  })

  it('with another priority of that second, and out of one push.', async () => {
    const { queues, queue, atMs, joined } = aQueue()
    const priorities = [5, 0, 0, 5]
    const { ids } = await push(
      queues,
      queue,
      priorities.map((priority, n) => ({ text: bulky(`${n}`, 300), priority, deliverAtMs: atMs })),
    )
    await queues.move(queue, { ids: [ids[1] as string], priority: 5 })
    const texts = await joined()
    expect(texts.map((text) => text[1])).toEqual(['2', '0', '3', '1'])
  })

  it('however many those are.', async () => {
    const { stage, queues, queue, atMs, id, joined } = aQueue()
    const b = await id({ text: '"b"' })
    for (let n = 0; n < 17; n += 1) await id({ text: `${n}`, deliverAtMs: atMs })
    expect((await stage.record(queue)).scheduled.entries.length).toBe(17)
    await queues.move(queue, { ids: [b], deliverAtMs: atMs })
    // Its own write takes 16 along at the most, beside all else that it may have to change; a seal came before it.
    expect((await stage.record(queue)).scheduled).toMatchObject({ entries: [], seals: 2 })
    expect(await joined()).toEqual([...Array.from({ length: 17 }, (_, n) => `${n}`), '"b"'])
  })
})

type Step =
  | { readonly kind: 'push'; readonly second: number; readonly bytes: number }
  | { readonly kind: 'move'; readonly of: number; readonly second: number }
  | { readonly kind: 'fill' }

const anySecond = fc.integer({ min: 0, max: 2 })
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('push' as const),
    second: anySecond,
    bytes: fc.constantFrom(10, 10, 400),
  }),
  fc.record({ kind: fc.constant('move' as const), of: fc.nat(50), second: anySecond }),
  fc.constant({ kind: 'fill' as const }),
)

it('For any pushes and moves, what joins is in the order in which it was scheduled, second by second.', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 4, maxLength: 40 }), async (steps) => {
      const { queues, queue, atMs, id, joined } = aQueue()
      /** By second, the first of which is now; in each, in order. */
      const seconds: string[][] = [[], [], []]
      const ids = new Map<string, string>()
      const timeOf = (second: number) =>
        second === 0 ? {} : { deliverAtMs: atMs + 1_000 * second }
      for (const [n, step] of steps.entries()) {
        if (step.kind === 'fill') {
          await id({ text: bulky('f', 500), delaySeconds: 5_000 + n, priority: 9 })
        } else if (step.kind === 'push') {
          const text = bulky(`${n}`, step.bytes)
          ids.set(text, await id({ text, ...timeOf(step.second) }))
          seconds[step.second]?.push(text)
        } else {
          const text = [...ids.keys()][step.of % Math.max(1, ids.size)]
          const from = seconds.find((some) => some.includes(text ?? ''))
          const to = seconds[step.second]
          if (text === undefined || from === undefined || to === undefined || step.second === 0)
            continue
          const [moved] = await queues.move(queue, {
            ids: [ids.get(text) as string],
            ...timeOf(step.second),
          })
          expect(moved?.result).toBe('moved')
          if (from === to) continue
          ids.set(text, moved?.result === 'moved' ? (moved.newId as string) : '')
          from.splice(from.indexOf(text), 1)
          to.push(text)
        }
      }
      expect(await joined()).toEqual(seconds.flat())
    }),
    { numRuns: 60 },
  )
})
