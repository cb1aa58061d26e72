import { describe, expect, it } from 'vitest'
import { escapedBytes } from '../../engine/core/item.ts'
import { ANSWER_BYTES_MAX } from '../../engine/core/limits.ts'
import type { PopRequest } from '../../engine/queues.ts'
import { openSimulated, type Stage, useEmbedded } from './stage.ts'
import { push, textsOf } from './traffic.ts'

// 25 MB go in and out for each way: one of them through the embedded stores is enough.
const simulated = openSimulated()
const embedded = useEmbedded()

const KIB = 1024
const large = (index: number, priority = 0) => ({
  text: `"${String(index).padStart(4, '0')}${'x'.repeat(255 * KIB - 6)}"`,
  priority,
})

const escaped = (items: readonly { text: string }[]): number =>
  items.reduce((sum, { text }) => sum + escapedBytes(text), 0)

describe('A pop of 100 items of 255 KiB is answered 4 MiB at a time, in order, with nothing lost', () => {
  const ways: readonly [string, PopRequest, () => Stage][] = [
    ['exclusive without acknowledgement', {}, () => simulated],
    ['exclusive with acknowledgement', { requireAck: true }, () => embedded],
    ['by competing consumers', { requireAck: true, competing: true }, () => simulated],
  ]
  it.each(ways)('%s.', async (_, request, store) => {
    const stage = store()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const items = Array.from({ length: 100 }, (_, index) => large(index))
    for (let from = 0; from < 100; from += 10) {
      await push(queues, queue, items.slice(from, from + 10))
    }
    const texts: string[] = []
    const answers: { items: number; more: boolean }[] = []
    while (texts.length < 100) {
      const outcome = await queues.pop(queue, { ...request, count: 100 })
      if (outcome.kind !== 'items') throw new Error(`${outcome.kind} after ${texts.length} items`)
      expect(escaped(outcome.items)).toBeLessThanOrEqual(ANSWER_BYTES_MAX)
      texts.push(...textsOf(outcome.items).map((text) => text.slice(0, 5)))
      answers.push({ items: outcome.items.length, more: outcome.more })
      if (outcome.lock !== undefined) await queues.acknowledge(queue, { lockId: outcome.lock.id })
    }
    expect(texts).toEqual(items.map(({ text }) => text.slice(0, 5)))
    expect(answers.map((answer) => answer.items)).toEqual([16, 16, 16, 16, 16, 16, 4])
    expect(answers.map(({ more }) => more)).toEqual([...Array(6).fill(true), false])
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
  })

  it('over one lane for each item.', async () => {
    const [queues, queue] = [simulated.engine(), simulated.queue()]
    for (let from = 0; from < 40; from += 10) {
      const items = Array.from({ length: 10 }, (_, index) => large(from + index, from + index))
      await push(queues, queue, items)
    }
    const request = { count: 100, requireAck: true, competing: true }
    const taken = [await queues.pop(queue, request), await queues.pop(queue, request)]
    expect(taken).toMatchObject([{ more: true }, { more: true }])
    const page = await queues.browse(queue, { limit: 100 })
    expect(escaped(page.items)).toBeLessThanOrEqual(ANSWER_BYTES_MAX)
    expect(page.cursor).toBeDefined()
  })
})

it('An item of 256 KiB that escapes to twice its size is still answered, alone or with others.', async () => {
  const [queues, queue] = [simulated.engine(), simulated.queue()]
  const text = `"${'\\"'.repeat(128 * KIB - 1)}"`
  expect(Buffer.byteLength(text)).toBe(256 * KIB)
  for (let from = 0; from < 12; from += 4) {
    await push(
      queues,
      queue,
      Array.from({ length: 4 }, () => ({ text })),
    )
  }
  const counts: number[] = []
  for (;;) {
    const outcome = await queues.pop(queue, { count: 12 })
    if (outcome.kind !== 'items') break
    expect(escaped(outcome.items)).toBeLessThanOrEqual(ANSWER_BYTES_MAX)
    expect(new Set(textsOf(outcome.items))).toEqual(new Set([text]))
    counts.push(outcome.items.length)
  }
  expect(counts).toEqual([7, 5])
})

it('A browse over large items goes on with its cursor until all were seen.', async () => {
  const [queues, queue] = [simulated.engine(), simulated.queue()]
  for (let from = 0; from < 40; from += 10) {
    const items = Array.from({ length: 10 }, (_, index) => large(from + index, index % 2))
    await push(queues, queue, items)
  }
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await queues.browse(queue, { limit: 100, ...(cursor !== undefined && { cursor }) })
    expect(escaped(page.items)).toBeLessThanOrEqual(ANSWER_BYTES_MAX)
    seen.push(...page.items.map(({ text }) => text.slice(1, 5)))
    cursor = page.cursor
  } while (cursor !== undefined)
  const lanes = [0, 1].flatMap((lane) =>
    Array.from({ length: 20 }, (_, index) => String(2 * index + lane).padStart(4, '0')),
  )
  expect(seen).toEqual(lanes)
})
