import { PutCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import type { TransactItem } from '../../engine/queues.ts'
import { useEmbedded } from './stage.ts'
import {
  bulky,
  drain,
  expectCode,
  lockItems,
  named,
  push,
  pushOneByOne,
  textsOf,
  tidy,
} from './traffic.ts'

const stage = useEmbedded()

/** The caller's own row and the item, in one transaction. */
function transact(order: string, entry: TransactItem): Promise<unknown> {
  const row = {
    Put: {
      TableName: stage.store.tableName,
      Item: { pk: `order#${order}`, sk: 'row' },
      ConditionExpression: 'attribute_not_exists(pk)',
    },
  }
  const command = new TransactWriteCommand({ TransactItems: [row, entry] })
  return stage.store.dynamodb.send(command as never)
}

const isWritten = async (order: string): Promise<boolean> =>
  (await stage.store.rows()).some(({ pk }) => pk === `order#${order}`)

describe('An entry for the caller’s own transaction', () => {
  it('for later leaves the timer alone that another process, whose clock is behind, has set meanwhile.', async () => {
    const queue = stage.queue()
    const [ahead, behind] = [2_000, -2_000].map((ms) =>
      stage.engine({ clock: stage.clock.skewed(ms) }),
    )
    if (ahead === undefined || behind === undefined) throw new Error('no engine')
    await push(behind, queue, named('a', 1))
    const later = { text: '"later"', delaySeconds: 3_600 }
    const order = `timer-${queue}`
    const entry = await ahead.pushTransactItem(queue, later)
    const { lock } = await lockItems(behind, queue, { ttlSeconds: 1 })
    await expect(transact(order, entry)).rejects.toMatchObject({
      name: 'TransactionCanceledException',
    })
    await transact(order, await ahead.pushTransactItem(queue, later))
    expect(await isWritten(order)).toBe(true)
    const { checkAtMs, scheduled } = await stage.record(queue)
    expect(scheduled.items).toBe(1)
    expect(checkAtMs).toBeLessThanOrEqual(lock.expiresAtMs)
  })

  const items: readonly [string, string][] = [
    ['a small item', '{"total": 1.0}'],
    ['a large item', bulky('large', 100_000)],
  ]
  it.each(items)('pushes %s exactly when the row is written.', async (name, text) => {
    for (const isThere of [false, true]) {
      const [queues, queue] = [stage.engine(), stage.queue()]
      if (isThere) await push(queues, queue, named('z', 1))
      const order = `${name}-${isThere}`
      await transact(order, await queues.pushTransactItem(queue, { text, priority: 4 }))
      expect(await isWritten(order)).toBe(true)
      // The row is there already: neither happens.
      const again = await queues.pushTransactItem(queue, { text: '"never"', priority: 4 })
      await expect(transact(order, again)).rejects.toMatchObject({
        name: 'TransactionCanceledException',
      })
      const popped = textsOf(await drain(stage.engine(), queue))
      expect(popped).toEqual(isThere ? ['"z0"', text] : [text])
    }
  })

  it('that is never used leaves no item, and a queue made for it is forgotten.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.pushTransactItem(queue, { text: '1' })
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
    stage.clock.pass(11 * 60_000)
    for (let run = 0; run < 3; run += 1) await queues.returnExpiredLocks()
    expect(await stage.stored(queue)).toBeUndefined()
  })

  it('writes neither when the queue is full by then, nor when it was forgotten.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { capacity: 1 })
    const entry = await queues.pushTransactItem(queue, { text: '1' })
    await push(queues, queue, named('a', 1))
    await expect(transact('full', entry)).rejects.toMatchObject({
      name: 'TransactionCanceledException',
      CancellationReasons: [{ Code: 'None' }, { Code: 'ConditionalCheckFailed' }],
    })
    expect(await isWritten('full')).toBe(false)
    await expectCode(queues.pushTransactItem(queue, { text: '1' }), 'QUEUE_FULL')

    const other = stage.queue()
    const stale = await queues.pushTransactItem(other, { text: '1' })
    stage.clock.pass(11 * 60_000)
    for (let run = 0; run < 3; run += 1) await queues.returnExpiredLocks()
    await expect(transact('stale', stale)).rejects.toThrow()
    expect(await isWritten('stale')).toBe(false)
  })

  const large = bulky('large', 4_000)
  it.each([
    ['a small item', '1'],
    ['a large item', large],
  ])('of %s passes once, whatever became of the item since.', async (_, text) => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    const entry = await queues.pushTransactItem(queue, { text })
    const send = () =>
      stage.store.dynamodb.send(new TransactWriteCommand({ TransactItems: [entry] }) as never)
    await send()
    await expect(send()).rejects.toMatchObject({ name: 'TransactionCanceledException' })
    await pushOneByOne(
      queues,
      queue,
      named('behind', 60).map((item) => ({ text: item.text.padEnd(99) })),
    )
    await expect(send()).rejects.toMatchObject({ name: 'TransactionCanceledException' })
    expect((await drain(stage.engine(), queue))[0]?.text).toBe(text)
    await tidy(queues, queue)
    await expect(send()).rejects.toMatchObject({ name: 'TransactionCanceledException' })
    expect(await drain(stage.engine(), queue)).toEqual([])
    // Forgotten, and made again with such a lane.
    stage.clock.pass(11 * 60_000)
    for (let run = 0; run < 3; run += 1) await queues.returnExpiredLocks()
    await push(queues, queue, named('new', 1))
    await expect(send()).rejects.toMatchObject({ name: 'TransactionCanceledException' })
  })

  it('passes once among many others, of which the record remembers a bounded number.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    const entries: TransactItem[] = []
    let passed = 0
    const send = async (entry: TransactItem) => {
      const command = new TransactWriteCommand({ TransactItems: [entry] })
      await stage.store.dynamodb.send(command as never).then(
        () => {
          passed += 1
        },
        (error: { name: string }) => expect(error.name).toBe('TransactionCanceledException'),
      )
    }
    for (let n = 0; n < 160; n += 1) {
      const entry = await queues.pushTransactItem(queue, { text: String(n) })
      entries.push(entry)
      await send(entry)
      expect((await stage.record(queue)).tokens.kept).toBeLessThanOrEqual(65)
    }
    expect(passed).toBe(160)
    // None of them passes again: neither those that are remembered nor those that are forgotten.
    for (const entry of entries) await send(entry)
    expect(passed).toBe(160)
  })

  it('of which many are made before any is used passes, until the record remembers 256.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    const entries: TransactItem[] = []
    for (let n = 0; n < 300; n += 1) {
      entries.push(await queues.pushTransactItem(queue, { text: String(n) }))
    }
    const passed: string[] = []
    for (const [n, entry] of entries.entries()) {
      const command = new TransactWriteCommand({ TransactItems: [entry] })
      await stage.store.dynamodb.send(command as never).then(
        () => passed.push(String(n)),
        (error: { name: string }) => expect(error.name).toBe('TransactionCanceledException'),
      )
      // Where the tail has filled up.
      if (n % 20 === 0) await tidy(queues, queue)
    }
    expect(passed.length).toBe(256)
    expect((await stage.record(queue)).tokens.kept).toBe(256)
    // What was refused did not happen, and goes in with a new entry.
    await transact(`${queue}-again`, await queues.pushTransactItem(queue, { text: '"again"' }))
    expect((await stage.record(queue)).tokens.kept).toBeLessThanOrEqual(64)
    expect(textsOf(await drain(queues, queue))).toEqual([...passed, '"again"'])
  })

  it('is made although the record remembers as many others as it may.', async () => {
    const { queues, queue } = await stage.holding(named('a', 1))
    const stored = await stage.stored(queue)
    if (stored === undefined) throw new Error('unreachable')
    const u = Array.from({ length: 255 }, (_, n) => String(n).padStart(6, 't'))
    await stage.plant({ ...stored, u })
    await transact(`${queue}-1`, await queues.pushTransactItem(queue, { text: '"b"' }))
    expect((await stage.record(queue)).tokens).toEqual({ kept: 33, forgotten: 223 })
  })

  it('stays good while 32 others are used, and more.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    const use = async (count: number) => {
      for (let n = 0; n < count; n += 1) {
        await transact(
          `${queue}-${n}-${count}`,
          await queues.pushTransactItem(queue, { text: '1' }),
        )
      }
    }
    await use(40)
    const entry = await queues.pushTransactItem(queue, { text: '"kept"' })
    await use(32)
    await transact(`${queue}-kept`, entry)
    expect(await isWritten(`${queue}-kept`)).toBe(true)
  })

  it('passes on a queue whose tail is full, which it has sealed before.', async () => {
    const { queue } = await stage.holding(named('a', 1))
    const stored = await stage.stored(queue)
    if (stored === undefined) throw new Error('unreachable')
    // As full as it may be, and its sealer died.
    const lane = stored.L[0]
    const entry = lane?.t[0] as string
    const tail = Array.from({ length: 180 }, () => entry)
    const b = 180 * (Buffer.byteLength(entry) + 8)
    await stage.plant({ ...stored, b, L: { 0: { ...(lane as object), t: tail } as never } })
    await transact('tail', await stage.engine().pushTransactItem(queue, { text: '"last"' }))
    const popped = await drain(stage.engine(), queue)
    expect(popped).toHaveLength(181)
    expect(popped.at(-1)?.text).toBe('"last"')
  })

  it('is refused like a push.', async () => {
    const queues = stage.engine()
    const queue = stage.queue()
    await expectCode(queues.pushTransactItem('a b', { text: '1' }), 'INVALID_QUEUE_ID')
    await expectCode(queues.pushTransactItem(queue, { text: '{' }), 'INVALID_ITEM')
    await expectCode(
      queues.pushTransactItem(queue, { text: '1', priority: -1 }),
      'INVALID_PRIORITY',
    )
  })
})

it('Transactions and plain pushes together keep each producer’s order.', async () => {
  const [queue, other] = [stage.queue(), stage.engine()]
  await push(other, queue, named('z', 1))
  const withRow = async () => {
    const queues = stage.engine()
    for (const [index, item] of named('t', 10).entries()) {
      for (let done = false; !done; ) {
        const entry = await queues.pushTransactItem(queue, item)
        done = await transact(`mixed-${index}`, entry).then(
          () => true,
          (error: { name: string }) => {
            expect(error.name).toBe('TransactionCanceledException')
            return false
          },
        )
      }
    }
  }
  await Promise.all([withRow(), pushOneByOne(other, queue, named('p', 20))])
  const texts = textsOf(await drain(stage.engine(), queue))
  expect(texts).toHaveLength(31)
  for (const [name, count] of [['t', 10] as const, ['p', 20] as const]) {
    const own = texts.filter((text) => text.startsWith(`"${name}`))
    expect(own).toEqual(textsOf(named(name, count)))
  }
})

it('A row of the caller’s own in the same table does not disturb.', async () => {
  const [queues, queue] = [stage.engine(), stage.queue()]
  const Item = { pk: 'zebra', sk: 'row', shard: 3, checkAt: 1 }
  await stage.store.dynamodb.send(
    new PutCommand({
      TableName: stage.store.tableName,
      Item: { pk: Item.pk, sk: Item.sk },
    }) as never,
  )
  await push(queues, queue, named('a', 1))
  expect(await drain(queues, queue)).toHaveLength(1)
})
