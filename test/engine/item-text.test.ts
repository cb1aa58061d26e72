import { describe, expect, it } from 'vitest'
import { segmentOf } from '../../engine/core/record.ts'
import type { PushItem, Queues } from '../../engine/queues.ts'
import { oddTexts } from '../support/odd-texts.ts'
import { useEmbedded } from './stage.ts'
import { bulky, drain, named, push, pushOneByOne, textsOf, tidy } from './traffic.ts'

const stage = useEmbedded()

/** With space around it, which is a part of the text here. */
const texts = [...oddTexts, '  "around"  ']
const large = [`"${'x'.repeat(255 * 1024)}"`, `"${'語'.repeat(85 * 1024)}"`]

const asItems = (some: readonly string[]): PushItem[] => some.map((text) => ({ text }))

type Store = (queues: Queues, queue: string) => Promise<unknown>

describe('Item text comes back byte for byte', () => {
  const cases: readonly [string, Store, readonly string[]][] = [
    ['from the tail', (q, id) => pushOneByOne(q, id, asItems(texts)), texts],
    ['from a batch in rows', (q, id) => push(q, id, asItems([...texts, bulky('r', 2_000)])), texts],
    ['from a batch in S3', (q, id) => push(q, id, asItems([...texts, bulky('s', 40_000)])), texts],
    ['when it is large', (q, id) => pushOneByOne(q, id, asItems(large)), large],
    [
      'when many large ones come at once',
      (q, id) => push(q, id, asItems([...large, ...large])),
      [],
    ],
  ]
  it.each(cases)('%s.', async (_, store, expected) => {
    const queue = stage.queue()
    await store(stage.engine(), queue)
    const popped = textsOf(await drain(stage.engine(), queue))
    expect(popped.slice(0, expected.length)).toEqual(expected)
    if (expected.length === 0) expect(popped).toEqual([...large, ...large])
  })

  it('from chunk rows, from S3 and from a copy recalled from there.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { segmentSize: 4 })
    const fillers = named('filler', 30).map(({ text }) => text)
    const all = [...texts, ...texts, ...texts, ...fillers]
    await pushOneByOne(queues, queue, asItems(all))
    await tidy(queues, queue)
    const lane = (await stage.record(queue)).lanes.get(0)
    expect(lane?.sealed).toBeGreaterThan(texts.length)
    expect(lane?.offloaded.to).toBeGreaterThanOrEqual(4)
    const page = await stage.engine().browse(queue, { limit: 100 })
    expect(textsOf(page.items)).toEqual(all)

    const popped: string[] = []
    let recalled = 0
    for (;;) {
      const reader = stage.engine()
      const outcome = await reader.pop(queue, { count: 4 })
      if (outcome.kind !== 'items') break
      popped.push(...textsOf(outcome.items))
      const now = (await stage.record(queue)).lanes.get(0)
      if (now !== undefined && segmentOf(now, now.head) < now.recalled) recalled += 1
      await tidy(stage.engine(), queue)
    }
    expect(popped).toEqual(all)
    expect(recalled).toBeGreaterThan(3)
  })
})
