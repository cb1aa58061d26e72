import {
  ConditionalCheckFailedException,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { describe, expect, it } from 'vitest'
import { Dynamo, type Row } from '../../aws/dynamo.ts'
import { throttled, timedOut, unsent } from '../engine/wire.ts'

type Answer = Error | object

/** A store that gives these answers one after the other, then the last one again and again. */
const scripted = (...answers: Answer[]) => scriptedAfter(0, ...answers)

/** Each answer takes so long. */
function scriptedAfter(answerMs: number, ...answers: Answer[]) {
  let now = 1_000
  const sent: { name: string; input: Record<string, unknown> }[] = []
  const slept: number[] = []
  const port = {
    async send(command: never) {
      const { input } = command as { input: Record<string, unknown> }
      const answer = answers[Math.min(sent.length, answers.length - 1)] as Answer
      sent.push({ name: (command as object).constructor.name, input })
      now += answerMs
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  const clock = {
    nowMs: () => now,
    sleep: async (ms: number) => {
      slept.push(ms)
      now += ms
    },
  }
  const dynamo = new Dynamo(port, 'table', clock, () => 0.5)
  return {
    dynamo,
    sent,
    slept,
    setForward: (ms: number) => {
      now += ms
    },
    totalMs: () => slept.reduce((sum, ms) => sum + ms, 0),
  }
}

const key = { pk: 'a', sk: 'b' }
const update = { UpdateExpression: 'SET a=:a', ConditionExpression: 'b=:b' }
const $metadata = { httpStatusCode: 400 }
const conditionFailed = (item?: Row) =>
  new ConditionalCheckFailedException({
    message: '',
    $metadata,
    ...(item !== undefined && { Item: marshall(item) }),
  })

type Write = (dynamo: Dynamo) => Promise<unknown>
const writes: Readonly<Record<string, Write>> = {
  update: (dynamo) => dynamo.update(key, update),
  put: (dynamo) => dynamo.put({ Item: key, ConditionExpression: 'attribute_not_exists(pk)' }),
  delete: (dynamo) => dynamo.delete({ Key: key, ConditionExpression: 'v=:v' }),
}

describe.each(Object.entries(writes))('A conditional %s', (_, write) => {
  it('that is throttled is sent again, with growing pauses.', async () => {
    const { dynamo, sent, slept } = scripted(throttled(), throttled(), { Attributes: { a: 1 } })
    expect(await write(dynamo)).toEqual({ kind: 'done', row: { a: 1 } })
    expect(sent).toHaveLength(3)
    expect(slept[1]).toBeGreaterThan(slept[0] ?? 0)
  })

  it('that is throttled for good is given up after some seconds, as definite.', async () => {
    const { dynamo, sent, totalMs } = scripted(throttled())
    await expect(write(dynamo)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcome: undefined,
    })
    expect(sent.length).toBeLessThanOrEqual(10)
    expect(totalMs()).toBeLessThan(5_000)
    expect(totalMs()).toBeGreaterThan(500)
  })

  it('whose answer is lost is not sent again.', async () => {
    for (const error of [timedOut(), Object.assign(new Error(), { name: 'InternalServerError' })]) {
      const { dynamo, sent } = scripted(error)
      expect(await write(dynamo)).toEqual({ kind: 'unknown', cause: error })
      expect(sent).toHaveLength(1)
    }
  })

  it('that never left is sent again, and given up as definite.', async () => {
    const { dynamo, sent } = scripted(unsent(), unsent(), {})
    expect(await write(dynamo)).toEqual({ kind: 'done' })
    expect(sent).toHaveLength(3)
    await expect(write(scripted(unsent()).dynamo)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcome: undefined,
    })
  })

  it('that failed tells what it met, asked for in the same request.', async () => {
    const { dynamo, sent } = scripted(conditionFailed({ v: 3, t: ['x'] }))
    expect(await write(dynamo)).toEqual({ kind: 'failed', row: { v: 3, t: ['x'] } })
    expect(sent[0]?.input.ReturnValuesOnConditionCheckFailure).toBe('ALL_OLD')
    expect(await write(scripted(conditionFailed()).dynamo)).toEqual({ kind: 'failed' })
  })

  it('that is wrong is a fault of ours, thrown as it is.', async () => {
    const wrong = Object.assign(new Error('no'), { name: 'ValidationException', $metadata })
    await expect(write(scripted(wrong).dynamo)).rejects.toBe(wrong)
  })
})

it('A plain write that meets transactions for good is given up after three seconds of pauses too.', async () => {
  const met = Object.assign(new Error(), { name: 'TransactionConflictException', $metadata })
  for (const write of Object.values(writes)) {
    const { dynamo, totalMs } = scripted(met)
    await expect(write(dynamo)).rejects.toMatchObject({ code: 'BUSY', outcome: undefined })
    expect(totalMs()).toBeLessThan(3_100)
  }
})

it('A plain write that meets a throttle after many transactions tries on, as after the first throttle.', async () => {
  const met = Object.assign(new Error(), { name: 'TransactionConflictException', $metadata })
  for (const write of Object.values(writes)) {
    const { dynamo, sent } = scripted(...Array.from({ length: 20 }, () => met), throttled(), {})
    expect(await write(dynamo)).toMatchObject({ kind: 'done' })
    expect(sent).toHaveLength(22)
  }
})

describe('A seal’s update', () => {
  it('is sent as often as it takes while the store throttles.', async () => {
    const { dynamo, sent } = scripted(...Array.from({ length: 100 }, throttled), {})
    expect(await dynamo.update(key, update, true)).toEqual({ kind: 'done' })
    expect(sent).toHaveLength(101)
  })

  it('is not, if each try would wait a second for its connection.', async () => {
    const { dynamo, sent } = scripted(unsent())
    const sending = dynamo.update(key, update, true)
    await expect(sending).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: undefined })
    expect(sent).toHaveLength(8)
  })
})

describe('A read', () => {
  it('is asked again whatever happened, but not for ever.', async () => {
    const found = scripted(timedOut(), throttled(), timedOut(), { Item: { a: 1 } })
    expect(await found.dynamo.get(key, true)).toEqual({ a: 1 })
    const away = scripted(unsent(), throttled(), unsent(), { Item: { a: 1 } })
    expect(await away.dynamo.get(key, true)).toEqual({ a: 1 })
    const lost = scripted(timedOut())
    await expect(lost.dynamo.get(key, false)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(lost.sent.length).toBeLessThanOrEqual(5)
  })

  it('says how consistent it has to be, and nothing where nothing is.', async () => {
    const { dynamo, sent } = scripted({})
    expect(await dynamo.get(key, true)).toBeUndefined()
    expect(sent[0]?.input).toMatchObject({ ConsistentRead: true, Key: key, TableName: 'table' })
    const page = { Items: [{ a: 1 }], LastEvaluatedKey: { pk: 'x' } }
    expect(await scripted(page).dynamo.query({})).toEqual({ rows: [{ a: 1 }], next: { pk: 'x' } })
  })

  it('of many keys takes 100 at a time, and asks again for what was left out.', async () => {
    const keys = Array.from({ length: 150 }, (_, n) => ({ pk: String(n), sk: 's' }))
    const { dynamo, sent } = scripted(
      {
        Responses: { table: keys.slice(0, 60) },
        UnprocessedKeys: { table: { Keys: keys.slice(60, 100) } },
      },
      { Responses: { table: keys.slice(60, 150) } },
    )
    expect(await dynamo.getMany(keys, false)).toEqual(keys)
    const asked = sent.map(({ input }) => {
      const { RequestItems } = input as { RequestItems: { table: { Keys: unknown[] } } }
      return RequestItems.table.Keys.length
    })
    expect(asked).toEqual([100, 90])
  })

  it('of many keys that brings nothing time and again is given up.', async () => {
    const keys = [key]
    const none = { Responses: {}, UnprocessedKeys: { table: { Keys: keys } } }
    const { dynamo, sent } = scripted(none)
    await expect(dynamo.getMany(keys, true)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(sent.length).toBeLessThanOrEqual(10)
    expect(await scripted(none).dynamo.getMany([], true)).toEqual([])
  })
})

describe('Many rows', () => {
  const rows = Array.from({ length: 60 }, (_, n) => ({ pk: 'p', sk: String(n) }))
  it('are put 25 at a time, and one alone by a put.', async () => {
    const { dynamo, sent } = scripted({})
    await dynamo.putMany(rows)
    expect(sent.map(({ name }) => name)).toEqual(Array(3).fill('BatchWriteCommand'))
    const single = scripted({})
    await single.dynamo.putMany(rows.slice(0, 1))
    expect(single.sent.map(({ name }) => name)).toEqual(['PutCommand'])
    const nothing = scripted({})
    await nothing.dynamo.putMany([])
    await nothing.dynamo.deleteMany([])
    expect(nothing.sent).toEqual([])
  })

  it('that were left out are sent again, alone, until they are in.', async () => {
    const left = [{ PutRequest: { Item: rows[3] } }]
    const { dynamo, sent } = scripted({ UnprocessedItems: { table: left } }, timedOut(), {})
    await dynamo.putMany(rows.slice(0, 10))
    expect(sent).toHaveLength(3)
    expect(sent[2]?.input.RequestItems).toEqual({ table: left })
  })

  it('that never get in are given up.', async () => {
    const left = [{ DeleteRequest: { Key: key } }]
    const { dynamo, sent, totalMs } = scripted({ UnprocessedItems: { table: left } })
    await expect(dynamo.deleteMany([key])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(sent.length).toBeLessThanOrEqual(10)
    expect(totalMs()).toBeLessThan(5_000)
  })
})

describe('A transaction', () => {
  const cancelled = (...codes: string[]) =>
    new TransactionCanceledException({
      message: '',
      $metadata,
      CancellationReasons: codes.map((Code, n) => ({ Code, Item: marshall({ n }) })),
    })
  const input = { TransactItems: [] }

  it('says which entries failed, and what they met.', async () => {
    const { dynamo } = scripted(cancelled('None', 'ConditionalCheckFailed'))
    expect(await dynamo.transact(input)).toEqual({
      kind: 'failed',
      reasons: [
        { failed: false, row: { n: 0 } },
        { failed: true, row: { n: 1 } },
      ],
    })
  })

  it('that met another, or was throttled, is sent again.', async () => {
    const { dynamo, sent } = scripted(
      cancelled('TransactionConflict', 'None'),
      cancelled('None', 'ThrottlingError'),
      throttled(),
      {},
    )
    expect(await dynamo.transact(input)).toEqual({ kind: 'done' })
    expect(sent).toHaveLength(4)
  })

  it('that meets others for good is given up after three seconds of pauses, as definite.', async () => {
    const met = cancelled('TransactionConflict', 'None')
    const { dynamo, sent, totalMs } = scripted(met)
    const refused = dynamo.transact(input)
    await expect(refused).rejects.toMatchObject({ code: 'BUSY', outcome: undefined })
    expect(totalMs()).toBeGreaterThan(2_900)
    expect(totalMs()).toBeLessThan(3_100)
    expect(sent.length).toBeLessThanOrEqual(60)
  })

  it('that meets others for good counts slow answers too, half a second each at most.', async () => {
    const met = cancelled('TransactionConflict', 'None')
    for (const [answerMs, sendings] of [
      [100, 25],
      [3_000, 7],
    ] as const) {
      const { dynamo, sent } = scriptedAfter(answerMs, met)
      await expect(dynamo.transact(input)).rejects.toMatchObject({ code: 'BUSY' })
      expect(sent.length).toBeLessThanOrEqual(sendings)
    }
  })

  it('that met another is sent again, though the clock was set forward meanwhile.', async () => {
    const met = cancelled('TransactionConflict', 'None')
    const { dynamo, setForward } = scripted(met, met, {})
    const sending = dynamo.transact(input)
    setForward(60_000)
    expect(await sending).toEqual({ kind: 'done' })
  })

  it('whose answer is lost is not sent again.', async () => {
    const error = timedOut()
    const { dynamo, sent } = scripted(error)
    expect(await dynamo.transact(input)).toEqual({ kind: 'unknown', cause: error })
    expect(sent).toHaveLength(1)
  })

  it('that is refused for what is in it is a fault of ours.', async () => {
    const invalid = Object.assign(new Error(), { name: 'ValidationException', $metadata })
    const { dynamo, sent } = scripted(invalid)
    await expect(dynamo.transact(input)).rejects.toBe(invalid)
    expect(sent).toHaveLength(1)
  })
})

describe('A store with a deadline', () => {
  it('is sent nothing more once the time is up, and what fails is definite.', async () => {
    const { dynamo, sent } = scripted({})
    for (const write of Object.values(writes)) {
      await expect(write(dynamo.until(1_000))).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        outcome: undefined,
      })
    }
    await expect(dynamo.until(1_000).get(key, true)).rejects.toThrow('store')
    await expect(dynamo.until(1_000).transact({ TransactItems: [] })).rejects.toThrow('store')
    expect(sent).toEqual([])
    expect(await writes.update?.(dynamo.until(1_001))).toEqual({ kind: 'done' })
  })

  it.each([
    [2_000, 9_000],
    [9_000, 2_000],
  ])('keeps the earlier of two, %i and %i.', async (first, second) => {
    const { dynamo, sent, setForward } = scripted({})
    const bounded = dynamo.until(first).until(second)
    await bounded.get(key, true)
    setForward(2_000)
    await expect(bounded.get(key, true)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(sent).toHaveLength(1)
  })

  it('is sent deletions for two seconds more, so that a call can clean up behind itself.', async () => {
    const { dynamo, sent, setForward } = scripted({}, {})
    const bounded = dynamo.until(1_000).cleaningUp()
    await bounded.deleteMany([key])
    setForward(2_000)
    await expect(bounded.deleteMany([key])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(sent).toHaveLength(1)
  })

  it('tells the store that it was made of when it was throttled.', async () => {
    const { dynamo } = scripted(throttled(), {})
    await writes.update?.(dynamo.until(2_000))
    expect(dynamo.throttledSince(1_000)).toBe(true)
  })
})

describe('What a batch can read', () => {
  const other = { pk: 'a', sk: 'c' }
  const part = (found: object[], left: object[]) => ({
    Responses: { table: found },
    UnprocessedKeys: left.length > 0 ? { table: { Keys: left } } : {},
  })

  it('is given, with the keys of what the store withholds.', async () => {
    for (const refusal of [part([], [key]), throttled()]) {
      const { dynamo } = scripted(part([other], [key]), refusal)
      expect(await dynamo.getReadable([key, other], true)).toMatchObject({
        rows: [other],
        unread: { keys: [key], error: { code: 'STORE_UNAVAILABLE' } },
      })
    }
  })

  it('is not enough for somebody who needs all of it.', async () => {
    const { dynamo } = scripted(part([other], [key]), part([], [key]))
    await expect(dynamo.getMany([key, other], true)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
  })
})
