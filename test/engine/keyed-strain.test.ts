import { DeleteCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import { hashOf, receiptKey } from '../../engine/core/keys.ts'
import { createEngine } from '../../engine/create-engine.ts'

import type { Pushed } from '../../engine/queues.ts'
import { moveNotes } from '../../engine/storing/seal.ts'
import { appendPushes } from '../../engine/verbs/push.ts'
import { type EngineOnWire, openSimulated, type Stage } from './stage.ts'
import { drain, named, popItems, push, pushOneByOne, textsOf } from './traffic.ts'
import { type Steering, timedOut, Wire } from './wire.ts'

// Pushes with keys where the queue is full, wide or quiet, the store away, a process slow, or a clock wrong.

const DAY_MS = 86_400_000
const CLOCKS_APART_MS = 60 * 60_000

/** So many calls in one turn, each with a key. */
const callTogether = (engine: EngineOnWire, queue: string, calls: number) =>
  Promise.allSettled(
    named('x', calls).map((item, n) =>
      engine.push(queue, { items: [item], idempotencyKey: `key-${n}` }),
    ),
  )

const codesOf = (ends: readonly PromiseSettledResult<Pushed>[]) =>
  new Set(ends.map((end) => (end.status === 'rejected' ? end.reason.code : 'pushed')))

describe('A thousand pushes with keys that linger', () => {
  it('fail together, after the patience of one request, while the store is away.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    const engine = stage.engine({ linger: true })
    await engine.push(queue, { items: named('a', 1) })
    engine.wire.steering = {
      before: () => {
        throw timedOut()
      },
    }
    let ends: PromiseSettledResult<Pushed>[] = []
    const sent = await engine.wire.during(async () => {
      ends = await callTogether(engine, queue, 1_000)
    })
    expect(codesOf(ends)).toEqual(new Set(['STORE_UNAVAILABLE']))
    expect(sent.length).toBeLessThan(10)
  })

  it('fail for certain with nothing changed, if only those ahead of them were sent.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    const engine = stage.engine({ linger: true })
    await engine.push(queue, { items: named('a', 1) })
    let isAway = false
    engine.wire.steering = {
      before: ({ name }) => {
        isAway ||= name === 'UpdateCommand'
        if (isAway) throw timedOut()
      },
    }
    const ends = await callTogether(engine, queue, 60)
    const outcomes = ends.map((end) => (end.status === 'rejected' ? end.reason.outcome : 'pushed'))
    expect(outcomes).toEqual([
      ...Array.from({ length: 25 }, () => 'unknown'),
      ...Array.from({ length: 35 }, () => undefined),
    ])
  })

  it('ask a full queue a few times, and those that were in before get their answers.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    const engine = stage.engine({ linger: true })
    await engine.configure(queue, { capacity: 3 })
    await engine.push(queue, { items: named('x', 1, 0, 700), idempotencyKey: 'key-700' })
    await engine.push(queue, { items: named('x', 1, 0, 800), idempotencyKey: 'key-800' })
    await moveNotes(engineOf(stage), await stage.record(queue))
    await engine.push(queue, { items: named('x', 1, 0, 900), idempotencyKey: 'key-900' })
    let ends: PromiseSettledResult<Pushed>[] = []
    const sent = await engine.wire.during(async () => {
      ends = await callTogether(engine, queue, 1_000)
    })
    expect(codesOf(ends)).toEqual(new Set(['QUEUE_FULL', 'pushed']))
    const known = ends.flatMap((end, n) => (end.status === 'fulfilled' ? [n] : []))
    expect(known).toEqual([700, 800, 900])
    expect(sent.length).toBeLessThan(50)
  })

  it.each(['lost the record', 'an older record'])(
    'that were in before get their answers where the process has %s of the queue.',
    async (memory) => {
      const [stage, queue] = [openSimulated(), 'queue']
      await stage.engine().configure(queue, { capacity: 600 })
      const older = await stage.record(queue)
      const [items, idempotencyKey] = [named('x', 600), 'key']
      await stage.engine().push(queue, { items, idempotencyKey })
      const engine = engineOf(stage, {
        // As a transaction of another call does, or the late answer to a read.
        before: ({ name }) => {
          if (name !== 'BatchWriteCommand' && name !== 'DeleteObjectsCommand') return
          if (memory === 'lost the record') engine.records.forget(queue)
          else engine.records.remember(older)
        },
      })
      const pushes = [{ items }, { items, idempotencyKey }]
      const [full, again] = await appendPushes(engine, queue, pushes)
      expect(full).toMatchObject({ kind: 'failed', error: { code: 'QUEUE_FULL' } })
      expect(again).toMatchObject({ kind: 'repeated' })
    },
  )

  it('go in few appends if they use the same key over and over between plain ones.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    const engine = stage.engine({ linger: true })
    await engine.push(queue, { items: named('a', 1) })
    const sent = await engine.wire.during(() =>
      Promise.all(
        named('p', 500).flatMap((item) => [
          engine.push(queue, { items: named('k', 1), idempotencyKey: 'key' }),
          engine.push(queue, { items: [item] }),
        ]),
      ),
    )
    expect(sent.length).toBeLessThan(30)
    const texts = textsOf(await drain(stage.engine(), queue))
    expect(texts).toEqual(['"a0"', '"k0"', ...textsOf(named('p', 500))])
  })
})

it('The look for several receipts reads consistently.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await push(stage.engine(), queue, named('z', 1))
  const looks: boolean[] = []
  const engine = engineOf(stage, {
    before: ({ name, input }) => {
      if (name !== 'BatchGetCommand') return
      const { RequestItems } = input as {
        RequestItems: Record<string, { ConsistentRead: boolean }>
      }
      for (const { ConsistentRead } of Object.values(RequestItems)) looks.push(ConsistentRead)
    },
  })
  const keyed = named('k', 2).map((item) => ({ items: [item], idempotencyKey: item.text }))
  await appendPushes(engine, queue, keyed)
  expect(looks).toEqual([true])
})

describe('If clocks differ', () => {
  const keyed = [{ items: named('k', 1), idempotencyKey: 'key' }]
  const ttl = { idempotencyTtlSeconds: 60 }

  it('a process whose clock is ahead takes no key from the others when it seals.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    await push(stage.engine(), queue, named('z', 1))
    const [first] = await appendPushes(engineOf(stage, {}, ttl), queue, keyed)
    stage.clock.pass(58_000)
    const ahead = stage.engine({ clock: stage.clock.skewed(180_000) })
    await pushOneByOne(ahead, queue, named('x'.repeat(200), 12))
    expect((await stage.record(queue)).notes.size).toBe(0)
    const [again] = await appendPushes(engineOf(stage, {}, ttl), queue, keyed)
    expect(again).toEqual({ ...first, kind: 'repeated' })
  })

  it('a process that wakes after the key’s time leaves the receipt of the key’s next push.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    await push(stage.engine(), queue, named('z', 1))
    await appendPushes(engineOf(stage, {}, ttl), queue, keyed)
    const [reached, thawed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const before = ({ name }: { readonly name: string }) => {
      if (name !== 'BatchWriteCommand' && name !== 'PutCommand') return
      reached.resolve()
      return thawed.promise
    }
    const sealing = moveNotes(engineOf(stage, { before }, ttl), await stage.record(queue))
    await reached.promise
    stage.clock.pass(61_000)
    const other = engineOf(stage, {}, ttl)
    const [second] = await appendPushes(other, queue, keyed)
    await moveNotes(other, await stage.record(queue))
    thawed.resolve()
    await sealing
    const [third] = await appendPushes(engineOf(stage, {}, ttl), queue, keyed)
    expect(second?.kind).toBe('pushed')
    expect(third).toEqual({ ...second, kind: 'repeated' })
  })

  it('a process that sleeps over the key’s time sends no receipt again over a younger one.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    await push(stage.engine(), queue, named('z', 1))
    await appendPushes(engineOf(stage), queue, keyed)
    const [reached, thawed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let isLost = false
    const after = async ({ name }: { readonly name: string }) => {
      if (name !== 'PutCommand' || isLost) return
      isLost = true
      reached.resolve()
      await thawed.promise
      throw timedOut()
    }
    const sealing = moveNotes(engineOf(stage, { after }), await stage.record(queue))
    const refused = expect(sealing).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await reached.promise
    stage.clock.pass(DAY_MS + 60_000)
    const other = engineOf(stage)
    const [second] = await appendPushes(other, queue, keyed)
    await moveNotes(other, await stage.record(queue))
    thawed.resolve()
    await refused
    const [third] = await appendPushes(engineOf(stage), queue, keyed)
    expect(second?.kind).toBe('pushed')
    expect(third).toEqual({ ...second, kind: 'repeated' })
  })

  it.each([
    ['the key was pushed anew', 601],
    ['DynamoDB has deleted its receipt', 301],
  ])('a push whose answer was lost takes nothing back because %s.', async (why, items) => {
    const [stage, queue] = [openSimulated(), 'queue']
    await push(stage.engine(), queue, named('z', 1))
    const [reached, thawed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = stage.engine({
      after: async ({ name }) => {
        if (name !== 'UpdateCommand') return
        reached.resolve()
        await thawed.promise
        throw timedOut()
      },
    })
    const request = { items: named('x', 300), idempotencyKey: 'key' }
    const refused = expect(slow.push(queue, request)).rejects.toMatchObject({ outcome: 'unknown' })
    await reached.promise
    await moveNotes(engineOf(stage), await stage.record(queue))
    stage.clock.pass(DAY_MS - 5 * 60_000)
    if (why === 'the key was pushed anew') {
      const ahead = { clock: stage.clock.skewed(10 * 60_000) }
      await stage.engine(ahead).push(queue, request)
      await moveNotes(engineOf(stage, {}, ahead), await stage.record(queue))
    } else {
      const { tableName: TableName, dynamodb } = stage.store
      const Key = receiptKey(queue, hashOf(queue, 'key'))
      await dynamodb.send(new DeleteCommand({ TableName, Key }) as never)
    }
    thawed.resolve()
    await refused
    expect(await drain(stage.engine(), queue)).toHaveLength(items)
  })
})

describe('Processes that push with keys in turn', () => {
  it.each([
    [30, 2.4],
    [100, 3.4],
  ])(
    'of which there are %i send no append that is refused, and %d requests a push at most.',
    async (processes, requestsMax) => {
      const [stage, queue] = [openSimulated(), 'queue']
      const engines = Array.from({ length: processes }, () => stage.engine())
      const text = JSON.stringify('x'.repeat(198))
      const pushInTurn = async (from: number, to: number) => {
        for (let n = from; n < to; n += 1) {
          const engine = engines[n % processes] as EngineOnWire
          await engine.push(queue, { items: [{ text }], idempotencyKey: `key-${n}` })
          if (n % 20 === 19) await popItems(stage.engine(), queue, { count: 20 })
        }
      }
      const sentSoFar = () => engines.reduce((sum, { wire }) => sum + wire.sent.length, 0)
      await pushInTurn(0, 2 * processes)
      const [sent, units] = [sentSoFar(), stage.store.writeUnits?.() ?? 0]
      await pushInTurn(2 * processes, 2 * processes + 300)
      expect((sentSoFar() - sent) / 300).toBeLessThan(requestsMax)
      expect(((stage.store.writeUnits?.() ?? 0) - units) / 300).toBeLessThan(3.6)
    },
  )
})

describe('Notes that no seal has taken', () => {
  const withNotes = async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    await stage.engine().configure(queue, { capacity: 1_000 })
    for (let n = 0; n < 5; n += 1) {
      await stage.engine().push(queue, { items: named('k', 1, 0, n), idempotencyKey: `key-${n}` })
    }
    expect((await stage.record(queue)).notes.size).toBe(5)
    return { stage, queue, notes: async () => (await stage.record(queue)).notes.size }
  }

  it('become receipts with the next push after an hour, and answer as before.', async () => {
    const { stage, queue, notes } = await withNotes()
    stage.clock.pass(61 * 60_000)
    await push(stage.engine(), queue, named('p', 1))
    expect(await notes()).toBe(0)
    expect(await stage.rows(queue, 'i')).toHaveLength(5)
    const again = { items: named('k', 1, 0, 3), idempotencyKey: 'key-3' }
    expect(await stage.engine().push(queue, again)).toMatchObject({ repeated: true })
  })

  it('become receipts at a visit of housekeeping.', async () => {
    const { stage, queue, notes } = await withNotes()
    stage.clock.pass(61 * 60_000)
    await stage.engine().housekeep(queue)
    expect(await notes()).toBe(0)
    expect(await stage.rows(queue, 'i')).toHaveLength(5)
  })

  it('go with any pop once their time was over long ago.', async () => {
    const { stage, queue, notes } = await withNotes()
    const popper = stage.engine()
    await popItems(popper, queue, { count: 1 })
    stage.clock.pass(24 * 60 * 60_000 + CLOCKS_APART_MS + 60_000)
    await popper.pop(queue, { count: 1 })
    await popper.pop(queue, { count: 1 })
    expect(await notes()).toBe(0)
    expect(await stage.rows(queue, 'i')).toEqual([])
  })
})

it('A seal that others keep from its write writes each receipt once.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await push(stage.engine(), queue, named('z', 200))
  const keyed = named('k', 8).map((item, n) => ({ items: [item], idempotencyKey: `${n}` }))
  await appendPushes(engineOf(stage), queue, keyed)
  const popper = stage.engine()
  let [rows, rounds] = [0, 0]
  const sealer = engineOf(stage, {
    before: async ({ name, input }) => {
      const { RequestItems = {} } = input as { RequestItems?: Record<string, unknown[]> }
      if (name === 'BatchWriteCommand') rows += Object.values(RequestItems)[0]?.length ?? 0
      if (name === 'UpdateCommand' && rounds++ < 10) await popItems(popper, queue, { count: 1 })
    },
  })
  await moveNotes(sealer, await stage.record(queue))
  expect((await stage.record(queue)).notes.size).toBe(0)
  expect(rounds).toBeGreaterThan(5)
  expect(rows).toBe(8)
})

const engineOf = ({ store, clock }: Stage, steering: Steering = {}, more: object = {}) =>
  createEngine({
    tableName: store.tableName,
    bucketName: store.bucketName,
    dynamodb: new Wire(steering).through('dynamodb', store.dynamodb),
    s3: store.s3,
    clock,
    random: Math.random,
    ...more,
  } as never)
