// A pop that the service was to hold, and could not.

import { describe, expect, test, vi } from 'vitest'
import { answers, clientOf, pops, type Reply, refuses, useFakeTime } from './scripted.ts'

useFakeTime()

const body = { items: [], count: 0, details: [] }
const notHeld = answers(200, body, { 'retry-after': '3' })
const empty = answers(200, body)

/** Until it is settled, however long its pauses are. */
async function ended<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  await vi.advanceTimersByTimeAsync(60_000)
  return promise
}

const asksOf = (replies: readonly Reply[]) => {
  const { queue, asked } = clientOf(replies)
  const waits = () => asked.map(({ url }) => url.searchParams.get('wait_seconds'))
  return { queue, asked, waits }
}

describe('A pop that is not held', () => {
  test('is asked again after the pause that the service names, for the time that is left.', async () => {
    const { queue, waits } = asksOf([notHeld, notHeld, pops('1')])
    const { items } = await ended(queue.pop({ waitSeconds: 20 }))
    expect(items).toHaveLength(1)
    expect(waits()).toEqual(['20', '17', '14'])
  })

  test('waits as long as it was to, and asks once more at the end.', async () => {
    const { queue, waits } = asksOf([notHeld, notHeld, empty])
    const startMs = performance.now()
    let tookMs = 0
    const popping = queue.pop({ waitSeconds: 4 }).finally(() => {
      tookMs = performance.now() - startMs
    })
    expect((await ended(popping)).items).toEqual([])
    expect(tookMs).toBeGreaterThanOrEqual(4_000)
    expect(waits()).toEqual(['4', '1', null])
  })

  test('goes with one key, and acknowledges once.', async () => {
    const acknowledges = answers(200, { ...body, items_acknowledged: 2 }, { 'retry-after': '3' })
    const { queue, asked } = asksOf([acknowledges, empty])
    const options = {
      waitSeconds: 20,
      requireAck: true,
      idempotent: true,
      acknowledge: 'AAAAAAAAAAA',
    }
    expect(await ended(queue.pop(options))).toMatchObject({ items: [], itemsAcknowledged: 2 })
    const keys = asked.map(({ headers }) => headers.get('idempotency-key'))
    expect(keys[0]).toBeTruthy()
    expect(keys[1]).toBe(keys[0])
    const acknowledge = asked.map(({ url }) => url.searchParams.get('acknowledge'))
    expect(acknowledge).toEqual(['AAAAAAAAAAA', null])
  })

  test.each([
    ['is locked', refuses(423, 'QUEUE_LOCKED'), undefined],
    ['cannot be read', refuses(400, 'INVALID_COUNT'), 'unknown'],
  ])('and then %s does not forget what it acknowledged.', async (_, later, outcome) => {
    const acknowledges = answers(200, { ...body, items_acknowledged: 2 }, { 'retry-after': '3' })
    const { queue } = asksOf([acknowledges, later])
    const options = { waitSeconds: 20, requireAck: true, acknowledge: 'AAAAAAAAAAA' }
    const popping = ended(queue.pop(options))
    if (outcome !== undefined) await expect(popping).rejects.toMatchObject({ outcome })
    else expect(await popping).toMatchObject({ items: [], itemsAcknowledged: 2 })
  })

  test('ends its pause when its signal comes.', async () => {
    const { queue, asked } = asksOf([notHeld, empty])
    const stop = new AbortController()
    const popping = queue.pop({ waitSeconds: 20, signal: stop.signal })
    popping.catch(() => {})
    await vi.advanceTimersByTimeAsync(1_000)
    stop.abort()
    await expect(popping).rejects.toMatchObject({ code: 'ABORTED' })
    expect(asked).toHaveLength(1)
  })
})

test('An id with a comma is not taken for two, and no id is called by its name.', async () => {
  const { client, asked } = clientOf([empty])
  const list = client.queues({ ids: ['a,b'] })[Symbol.asyncIterator]()
  await expect(list.next()).rejects.toMatchObject({ code: 'INVALID_QUEUE_ID', field: 'ids' })
  expect(asked).toHaveLength(0)
  expect(() => client.queue(undefined as never)).toThrow(/this one is undefined$/)
})
