import { describe, expect, test } from 'vitest'
import { PushPopError } from '../../client/errors.ts'
import { type BulkResult, purgeQueues, redriveQueues } from '../../client/index.ts'

type Redrive = { itemsRedriven: number; itemsLeft: number }

/** Queues `q.0`, `q.1`, …, and what purging or redriving each of them does. */
function clientOf({
  ids,
  purge = async () => ({ itemsPurged: 1 }),
  redrive = async () => ({ itemsRedriven: 0, itemsLeft: 0 }),
  breaksOff = false,
}: {
  ids: readonly string[]
  purge?: (id: string) => Promise<{ itemsPurged: number }>
  redrive?: (id: string, limit: number | undefined) => Promise<Redrive>
  breaksOff?: boolean
}) {
  return {
    async *queues({ prefix }: { readonly prefix: string }) {
      for (const id of ids) if (id.startsWith(prefix)) yield { id }
      if (breaksOff) throw new Error('the list broke off')
    },
    queue: (id: string) => ({
      purge: () => purge(id),
      redrive: ({ limit }: { limit?: number | undefined } = {}) => redrive(id, limit),
    }),
  }
}

const names = (count: number) => Array.from({ length: count }, (_, n) => `q.${n}`)

async function all<T>(results: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const one of results) found.push(one)
  return found
}

describe('Purging all queues with a prefix', () => {
  test('empties each of them, at most so many at a time.', async () => {
    let [running, most] = [0, 0]
    const purge = async () => {
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setTimeout(resolve, 1))
      running -= 1
      return { itemsPurged: 2 }
    }
    const client = clientOf({ ids: [...names(25), 'other'], purge })
    const results = await all(purgeQueues(client, { prefix: 'q.', atOnce: 3 }))
    expect(results.map(({ id }) => id).sort()).toEqual(names(25).sort())
    expect(results.every((one) => one.kind === 'done' && one.itemsPurged === 2)).toBe(true)
    expect(most).toBe(3)
  })

  test('goes on if one fails, and tells of it.', async () => {
    const error = new PushPopError('STORE_UNAVAILABLE', 'not now', { outcome: 'unknown' })
    const purge = async (id: string) => {
      if (id === 'q.1') throw error
      return { itemsPurged: 1 }
    }
    const results = await all(purgeQueues(clientOf({ ids: names(5), purge }), { prefix: '' }))
    expect(results.filter(({ kind }) => kind === 'done')).toHaveLength(4)
    const failed: BulkResult<object> | undefined = results.find(({ id }) => id === 'q.1')
    expect(failed).toEqual({ id: 'q.1', kind: 'failed', error })
  })

  test('takes no further queue once its signal is aborted, and ends what it has begun.', async () => {
    const stop = new AbortController()
    const purge = async () => {
      stop.abort()
      return { itemsPurged: 1 }
    }
    const options = { prefix: '', atOnce: 2, signal: stop.signal }
    expect(await all(purgeQueues(clientOf({ ids: names(9), purge }), options))).toHaveLength(1)
  })

  test('reports what was under way when the list breaks off, and then throws.', async () => {
    const seen: string[] = []
    const results = purgeQueues(clientOf({ ids: names(3), breaksOff: true }), { prefix: '' })
    await expect(async () => {
      for await (const { id } of results) seen.push(id)
    }).rejects.toThrow('the list broke off')
    expect(seen).toHaveLength(3)
  })
})

describe('Redriving all queues with a prefix', () => {
  test('calls each dead-letter queue until nothing moves, and no other queue.', async () => {
    const left = new Map([
      ['q.1-deadletter', 2_500],
      ['q.2-deadletter', 0],
    ])
    const asked: string[] = []
    const redrive = async (id: string, limit = 0) => {
      asked.push(id)
      const before = left.get(id) ?? 0
      // Three of them are locked.
      const itemsRedriven = Math.min(limit, Math.max(0, before - 3))
      left.set(id, before - itemsRedriven)
      return { itemsRedriven, itemsLeft: before - itemsRedriven }
    }
    const client = clientOf({ ids: ['q.1', ...left.keys()], redrive })
    const results = await all(redriveQueues(client, { prefix: 'q.' }))
    expect(results.sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
      { id: 'q.1-deadletter', kind: 'done', itemsRedriven: 2_497, itemsLeft: 3 },
      { id: 'q.2-deadletter', kind: 'done', itemsRedriven: 0, itemsLeft: 0 },
    ])
    expect(asked.filter((id) => id === 'q.1-deadletter')).toHaveLength(4)
    expect(asked).not.toContain('q.1')
  })

  test('ends although what it moves comes back at once.', async () => {
    // One is locked, and a consumer dead-letters each of the others as soon as it gets it.
    let calls = 0
    const redrive = async () => {
      calls += 1
      if (calls > 100) throw new Error('It goes on for ever')
      return { itemsRedriven: 2, itemsLeft: 3 }
    }
    const client = clientOf({ ids: ['q-deadletter'], redrive })
    const [result] = await all(redriveQueues(client, { prefix: 'q' }))
    expect(result).toMatchObject({ kind: 'done', itemsLeft: 3 })
  })

  test('does not say that nothing was changed if it fails after it has moved some.', async () => {
    let calls = 0
    const redrive = async () => {
      calls += 1
      if (calls === 2) throw new PushPopError('BUSY', 'not now', { retryable: true })
      return { itemsRedriven: 1_000, itemsLeft: 500 }
    }
    const client = clientOf({ ids: ['q-deadletter'], redrive })
    const [result] = await all(redriveQueues(client, { prefix: 'q' }))
    expect(result).toMatchObject({ kind: 'failed', error: { code: 'BUSY', outcome: 'unknown' } })
  })

  test('says it of a refusal before it has moved any.', async () => {
    const redrive = async () => {
      throw new PushPopError('BUSY', 'not now', { retryable: true })
    }
    const client = clientOf({ ids: ['q-deadletter'], redrive })
    const [result] = await all(redriveQueues(client, { prefix: 'q' }))
    expect(result).toMatchObject({ kind: 'failed', error: { code: 'BUSY' } })
    expect(result).not.toMatchObject({ error: { outcome: 'unknown' } })
  })
})
