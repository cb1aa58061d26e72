import { expect, test } from 'vitest'
import { redriveQueues } from '../../client/index.ts'
import { answers, clientOf, type Reply, refuses } from './scripted.ts'

const ids = Array.from({ length: 10 }, (_, i) => `q.${i}-deadletter`)

/** A list of ten queues, of which no page comes that is larger than `most` and holds the queue q.4. */
const listOf =
  (most: number): Reply =>
  (asked, signal) => {
    if (!asked.url.pathname.endsWith('/queues')) {
      return answers(200, { items_redriven: 1, items_left: 0 })(asked, signal)
    }
    const from = Number(asked.url.searchParams.get('cursor') ?? 0)
    const limit = Number(asked.url.searchParams.get('limit'))
    const page = ids.slice(from, from + limit)
    if (page.includes('q.4-deadletter') && limit > most) {
      return refuses(503, 'STORE_UNAVAILABLE')(asked, signal)
    }
    const to = from + page.length
    const cursor = to < ids.length ? { cursor: String(to) } : {}
    return answers(200, { queues: page.map((id) => ({ id, count: 1 })), ...cursor })(asked, signal)
  }

const retry = { attemptsMax: 1 }

test('a page of queues that always fails hides nobody: it is asked for in smaller parts', async () => {
  const { client } = clientOf([listOf(1)], { retry })
  const done: string[] = []
  for await (const one of redriveQueues(client, { prefix: 'q.' })) done.push(one.id)
  expect(done.sort()).toEqual(ids)
})

test('the list ends where even one queue alone cannot be listed, and says why', async () => {
  const { client, asked } = clientOf([listOf(0)], { retry })
  const seen: string[] = []
  const listing = (async () => {
    for await (const { id } of client.queues({ prefix: 'q.', smallerPages: true })) seen.push(id)
  })()
  await expect(listing).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(seen).toEqual(ids.slice(0, 4))
  expect(asked.length).toBeLessThan(20)
})

test('a list that is refused for good is asked for once', async () => {
  const { client, asked } = clientOf([refuses(400, 'INVALID_PARAMETER')], { retry })
  const first = client.queues({ prefix: 'q.', smallerPages: true })[Symbol.asyncIterator]().next()
  await expect(first).rejects.toMatchObject({ status: 400 })
  expect(asked).toHaveLength(1)
})
