import { expect, test, vi } from 'vitest'
import type { Reply } from './scripted.ts'
import { answers, clientOf, useFakeTime } from './scripted.ts'

useFakeTime()

/** A token that cannot be had at these calls. */
const tokenFailingAt = (...calls: number[]) => {
  let called = 0
  return () => {
    called += 1
    if (calls.includes(called)) throw new Error('the metadata service is away')
    return 'token'
  }
}

const pass = () => vi.advanceTimersByTimeAsync(10_000)

test('consumeMany goes on when credentials cannot be had for a moment.', async () => {
  const token = tokenFailingAt(2, 3)
  const { client, asked } = clientOf([answers(200, { queues: [] })], {
    url: 'https://service',
    auth: { kind: 'token', token },
  })
  const stop = new AbortController()
  const troubles: string[] = []
  const onError = ({ kind }: { kind: string }) => void troubles.push(kind)
  const options = { signal: stop.signal, onError }
  const ended = client.consumeMany({ prefix: 'q' }, () => {}, options).catch((error) => error)
  await pass()
  stop.abort()
  await pass()
  expect(await ended).toMatchObject({ acknowledged: 0 })
  expect(troubles).toEqual(['look', 'look'])
  expect(asked.length).toBeGreaterThan(2)
})

test('consume acknowledges what is done although credentials cannot be had for a moment.', async () => {
  const item = { id: 'i', priority: 0, pushed_at: 1, deliveries: 1 }
  const lock = { locked: true, lock_id: 'L', lock_expires_at: 2_000_000_000, ttl_seconds: 30 }
  let pops = 0
  const reply: Reply = (asked, signal) => {
    const some = { items: ['a'], count: 1, details: [item], ...lock }
    const none = { items: [], count: 0, details: [], items_acknowledged: 1 }
    if (!asked.url.pathname.endsWith('/pop')) return answers(200, {})(asked, signal)
    pops += 1
    return answers(200, pops === 1 ? some : none)(asked, signal)
  }
  const { queue, asked } = clientOf([reply], {
    url: 'https://service',
    auth: { kind: 'token', token: tokenFailingAt(2) },
  })
  const stop = new AbortController()
  const ended = queue.consume(() => {}, { signal: stop.signal }).catch((error) => error)
  await pass()
  stop.abort()
  await pass()
  expect(await ended).toMatchObject({ acknowledged: 1 })
  expect(asked.filter(({ url }) => url.searchParams.get('acknowledge') === 'L')).toHaveLength(1)
})
