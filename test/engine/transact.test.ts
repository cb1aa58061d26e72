// The loop around an entry for the caller's own transaction.

import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import { createQueues, type TransactItem } from '../../engine/queues.ts'
import { seeded } from '../../testing/random.ts'
import { createSimulatedClient, slowTransactions } from '../../testing/simulated/network.ts'
import { SimulatedStore } from '../../testing/simulated/store.ts'
import { Scheduler } from '../proofs/world/harness/scheduler.ts'
import { useEmbedded } from './stage.ts'
import { drain, named, push, textsOf } from './traffic.ts'

const stage = useEmbedded()

type Send = (entries: readonly TransactItem[]) => Promise<unknown>

/** The caller's own row, which must not be there, beside the items. */
const withRow =
  (order: string): Send =>
  (entries) => {
    const Put = {
      TableName: stage.store.tableName,
      Item: { pk: `order#${order}`, sk: 'row' },
      ConditionExpression: 'attribute_not_exists(pk)',
    }
    const command = new TransactWriteCommand({ TransactItems: [{ Put }, ...entries] })
    return stage.store.dynamodb.send(command as never)
  }

const isWritten = async (order: string): Promise<boolean> =>
  (await stage.store.rows()).some(({ pk }) => pk === `order#${order}`)

/** As the SDK throws what came of a request: it has metadata. */
const fromSdk = (error: Error, status?: number): Error =>
  Object.assign(error, { $metadata: status === undefined ? {} : { httpStatusCode: status } })

const lost = () => fromSdk(new Error('socket hang up'))

/** Its lane goes, before the entry that was made for it comes. */
async function forget(queues: ReturnType<typeof stage.engine>, queue: string): Promise<void> {
  stage.clock.pass(11 * 60_000)
  for (let run = 0; run < 3; run += 1) await queues.returnExpiredLocks()
  expect(await stage.stored(queue)).toBeUndefined()
}

const items = [{ text: '"a"' }, { text: '"b"', priority: 3 }]

describe('A transaction of the caller’s', () => {
  it('pushes several items of several priorities with the caller’s row.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.transact(queue, items, withRow(queue))
    expect(await isWritten(queue)).toBe(true)
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(['"a"', '"b"'])
  })

  it('that the caller’s own condition stops is the caller’s, and pushes nothing.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await withRow(queue)([])
    let sent = 0
    const send: Send = (entries) => {
      sent += 1
      return withRow(queue)(entries)
    }
    await expect(queues.transact(queue, items, send)).rejects.toMatchObject({
      name: 'TransactionCanceledException',
    })
    expect(sent).toBe(1)
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
  })

  it('that the queue stops is tried again with a new entry.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    const seen = new Set<unknown>()
    const send: Send = async (entries) => {
      seen.add(entries[0])
      if (seen.size === 1) await forget(queues, queue)
      return withRow(queue)(entries)
    }
    await queues.transact(queue, items, send)
    expect(seen.size).toBe(2)
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(['"a"', '"b"'])
  })

  it('that another transaction is in the way of is tried again.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    let conflicts = 3
    const send: Send = async (entries) => {
      if (conflicts-- > 0) {
        throw fromSdk(
          Object.assign(new Error('cancelled'), {
            name: 'TransactionCanceledException',
            CancellationReasons: [{ Code: 'None' }, { Code: 'TransactionConflict' }],
          }),
          400,
        )
      }
      return withRow(queue)(entries)
    }
    await queues.transact(queue, items, send)
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(['"a"', '"b"'])
  })

  it('that never gets through is given up after eight attempts, and nothing was changed.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    let sent = 0
    const send: Send = async () => {
      sent += 1
      throw fromSdk(Object.assign(new Error('slow'), { name: 'ThrottlingException' }), 400)
    }
    await expect(queues.transact(queue, items, send)).rejects.toMatchObject({ code: 'BUSY' })
    expect(sent).toBe(8)
  })

  it.each([
    ['was carried out', true],
    ['was not', false],
  ])('whose answer is lost, and which %s, pushes once.', async (_, lands) => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    let sent = 0
    const send: Send = async (entries) => {
      sent += 1
      if (sent > 1) return withRow(queue)(entries)
      if (lands) await withRow(queue)(entries)
      throw lost()
    }
    const answer = await queues.transact(queue, items, send)
    expect(answer === undefined).toBe(lands)
    expect(await isWritten(queue)).toBe(true)
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(['"a"', '"b"'])
  })

  it('whose first copy comes after the second pushes once as well.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    let first: readonly TransactItem[] = []
    const send: Send = async (entries) => {
      if (first.length > 0) return withRow(queue)(entries)
      first = entries
      throw lost()
    }
    await queues.transact(queue, items, send)
    await expect(withRow(`${queue}-late`)(first)).rejects.toThrow()
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(['"a"', '"b"'])
  })

  it('of which nobody can tell what became says "unknown".', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    const send: Send = async () => {
      throw lost()
    }
    await expect(queues.transact(queue, items, send)).rejects.toMatchObject({ outcome: 'unknown' })
  })

  it('says "unknown" if a copy that the caller’s client repeated is still at work.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    const send: Send = async () => {
      const error = Object.assign(new Error('slow'), { name: 'TransactionInProgressException' })
      throw fromSdk(error, 400)
    }
    await expect(queues.transact(queue, items, send)).rejects.toMatchObject({ outcome: 'unknown' })
  })

  it('says "unknown" also if a later copy is refused while the first may still land.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    let sent = 0
    const send: Send = async (entries) => {
      if (++sent === 1) throw lost()
      await withRow(queue)([]).catch(() => {})
      return withRow(queue)(entries)
    }
    await expect(queues.transact(queue, items, send)).rejects.toMatchObject({ outcome: 'unknown' })
  })

  it('is sent with no other entry while the first copy may still land.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    const seen = new Set<unknown>()
    let wasLost = false
    const send: Send = async (entries) => {
      seen.add(entries[0])
      if (wasLost) return withRow(queue)(entries)
      wasLost = true
      await forget(queues, queue)
      throw lost()
    }
    await expect(queues.transact(queue, items, send)).rejects.toMatchObject({ outcome: 'unknown' })
    expect(seen.size).toBe(1)
    expect(await stage.stored(queue)).toBeUndefined()
  })

  it('says "unknown" also if the store cannot be asked while the first copy may still land.', async () => {
    let isDown = false
    const before = async ({ name }: { readonly name: string }) => {
      if (isDown && name === 'GetCommand') {
        throw fromSdk(Object.assign(new Error('hot'), { name: 'ThrottlingException' }), 400)
      }
    }
    const [queues, queue] = [stage.engine({ before }), stage.queue()]
    let sent = 0
    const send: Send = async (entries) => {
      if (++sent === 1) throw lost()
      await withRow(queue)([]).catch(() => {})
      isDown = true
      return withRow(queue)(entries)
    }
    await expect(queues.transact(queue, items, send)).rejects.toMatchObject({ outcome: 'unknown' })
    expect(sent).toBe(2)
  })

  it('takes one slot of the queue’s limit, however many entries it takes.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    const pushLimit = { maxRequests: 2, windowMillis: 60_000 }
    await queues.configure(queue, { pushLimit })
    const seen = new Set<unknown>()
    const send: Send = async (entries) => {
      seen.add(entries[0])
      // As if others had passed meanwhile, more than the record remembers.
      if (seen.size === 1) await stage.plant({ ...(await stage.stored(queue)), ux: 100 } as never)
      return withRow(queue)(entries)
    }
    await queues.transact(queue, items, send)
    expect(seen.size).toBe(2)
    const push = (text: string) => queues.push(queue, { items: [{ text }] })
    await push('"c"')
    await expect(push('"d"')).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  })

  it('that the caller’s own code stops is not sent again.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    let sent = 0
    const send: Send = async () => {
      sent += 1
      throw new TypeError('my own mistake')
    }
    await expect(queues.transact(queue, items, send)).rejects.toThrow('my own mistake')
    expect(sent).toBe(1)
  })

  it('is refused before anything is sent, where the items are.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    const send: Send = async () => expect.unreachable()
    await expect(queues.transact(queue, [], send)).rejects.toMatchObject({ code: 'INVALID_ITEM' })
    const many = Array.from({ length: 101 }, (_, priority) => ({ text: '1', priority }))
    await expect(queues.transact(queue, many, send)).rejects.toMatchObject({
      code: 'INVALID_PRIORITY',
    })
    await push(queues, queue, named('x', 1))
    await queues.configure(queue, { capacity: 2 })
    await expect(queues.transact(queue, items, send)).rejects.toMatchObject({ code: 'QUEUE_FULL' })
  })
})

it('Thirty-two producers with their own transactions, each of which holds the record for 10 ms, all get through.', async () => {
  const startMs = Date.UTC(2030, 0, 1)
  const scheduler = new Scheduler(startMs)
  const store = new SimulatedStore({ nowMs: () => scheduler.nowMs })
  const random = seeded(3)
  const sleep = (ms: number) =>
    new Promise<void>((resolve) => scheduler.at(scheduler.nowMs + ms, 0.5, true, resolve))
  const network = slowTransactions(store, sleep, () => 10)
  const { dynamodb, s3 } = createSimulatedClient(store, network)
  const producer = async (p: number): Promise<void> => {
    const { tableName, bucketName } = store
    const clock = { nowMs: () => Math.floor(scheduler.nowMs), sleep }
    const options = { tableName, bucketName, dynamodb, s3, clock, random } as never
    const queues = createQueues(options)
    for (let n = 0; n < 10; n += 1) {
      await sleep(1 + random() * 50)
      const Put = { TableName: tableName, Item: { pk: `order#${p}-${n}`, sk: 'row' } }
      await queues.transact('q', [{ text: '1' }], (entries) => {
        const command = new TransactWriteCommand({ TransactItems: [{ Put }, ...entries] })
        return dynamodb.send(command as never)
      })
    }
  }
  let settled = false
  const all = Promise.all(Array.from({ length: 32 }, (_, p) => producer(p))).finally(() => {
    settled = true
  })
  all.catch(() => {})
  await scheduler.run(() => settled, 10_000_000)
  await all
})
