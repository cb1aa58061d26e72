import { describe, expect, it } from 'vitest'
import { configurationTag } from '../../engine/index.ts'
import type { QueuePatternInput } from '../../engine/queues.ts'
import { type EngineOnWire, openSimulated, type Stage, useEmbedded } from './stage.ts'
import { drain, expectCode, lockItems, named, popItems, push } from './traffic.ts'
import { type Request, throttled, timedOut } from './wire.ts'

const MINUTE_MS = 60_000
const tenant7: QueuePatternInput = {
  prefix: 'tenant-7.',
  settings: { maxDeliveries: 5, capacity: 10 },
}
const source = { from: 'pattern', prefix: 'tenant-7.' }

/** The sweeper's next runs, one a minute. */
async function minutes(stage: Stage, count: number, queues = stage.engine()): Promise<void> {
  for (let minute = 0; minute < count; minute += 1) {
    stage.clock.pass(MINUTE_MS)
    await queues.returnExpiredLocks()
  }
}

const sourceOf = async (queues: EngineOnWire, queue: string) =>
  (await queues.configuration(queue)).source

describe('A queue that its first push makes', () => {
  it('has the settings of the longest prefix, whole, and keeps them in its record.', async () => {
    const stage = openSimulated()
    const queues = stage.engine()
    await queues.configurePatterns([
      { prefix: '', settings: { capacity: 3, segmentSize: 7 } },
      tenant7,
      { prefix: 'tenant-', settings: { bufferSegments: 9 } },
    ])
    await push(queues, 'tenant-7.orders', named('a', 1))
    expect((await stage.record('tenant-7.orders')).configuration).toEqual({
      revision: 0,
      source,
      patternsRevision: 1,
      segmentSize: 100,
      bufferSegments: 1,
      maxDeliveries: 5,
      capacity: 10,
    })
    await push(queues, 'other', named('a', 1))
    const other = await stage.record('other')
    expect(other.configuration).toMatchObject({
      capacity: 3,
      source: { from: 'pattern', prefix: '' },
    })
    expect(other.lanes.get(0)?.segmentSize).toBe(7)
    expect(other.room).toBe(2)
  })

  it('has no bytes more if no pattern is for it.', async () => {
    const stage = openSimulated()
    await push(stage.engine(), 'before', named('a', 1))
    await stage.engine().configurePatterns([tenant7])
    await push(stage.engine(), 'behind', named('a', 1))
    expect(await stage.recordBytes('behind')).toBe(await stage.recordBytes('before'))
  })

  it('is full at its capacity and no later, even if the first push brings too much.', async () => {
    for (const idempotencyKey of [undefined, 'key']) {
      const stage = openSimulated()
      const queues = stage.engine()
      await queues.configurePatterns([tenant7])
      const items = named('a', 11)
      const request = idempotencyKey === undefined ? { items } : { items, idempotencyKey }
      await expectCode(queues.push('tenant-7.a', request), 'QUEUE_FULL')
      await push(queues, 'tenant-7.a', named('b', 10))
      expect(await drain(queues, 'tenant-7.a')).toHaveLength(10)
    }
  })

  it('lets no push get by the limit of its pattern, not even the first.', async () => {
    for (const keys of [false, true]) {
      const stage = openSimulated()
      const queues = stage.engine()
      const pushLimit = { maxRequests: 2, windowMillis: 3_600_000 }
      await queues.configurePatterns([{ prefix: 't', settings: { pushLimit } }])
      const pushes = [1, 2, 3].map((n) => ({
        items: named('a', 1),
        ...(keys && { idempotencyKey: `key-${n}` }),
      }))
      await queues.push('t1', pushes[0] as never)
      await stage.engine().push('t1', pushes[1] as never)
      await expectCode(stage.engine().push('t1', pushes[2] as never), 'RATE_LIMITED')
    }
  })

  it('has them as well if a transaction, a wide push or a redrive makes it.', async () => {
    const stage = openSimulated()
    const queues = stage.engine()
    await queues.configurePatterns([{ prefix: 't', settings: { capacity: 1_000 } }])
    await queues.pushTransactItem('t1', { text: '1' })
    expect(await sourceOf(queues, 't1')).toEqual({ from: 'pattern', prefix: 't' })
    await push(
      queues,
      't2',
      Array.from({ length: 60 }, (_, priority) => ({ text: '1', priority })),
    )
    expect((await stage.record('t2')).configuration.capacity).toBe(1_000)
    await push(queues, 't3', named('a', 1))
    const { lock } = await lockItems(queues, 't3')
    await queues.deadLetter('t3', { lockId: lock.id })
    await minutes(stage, 15)
    expect(await stage.stored('t3')).toBeUndefined()
    await queues.redrive('t3-deadletter')
    expect((await stage.record('t3')).configuration.capacity).toBe(1_000)
  })

  it('takes none if it is a dead-letter queue.', async () => {
    const stage = openSimulated()
    const queues = stage.engine()
    await push(queues, 't1-deadletter', named('a', 1))
    await queues.configurePatterns([{ prefix: '', settings: { capacity: 1 } }])
    await push(queues, 't2-deadletter', named('a', 2))
    await minutes(stage, 3)
    for (const queue of ['t1-deadletter', 't2-deadletter']) {
      expect(await sourceOf(queues, queue)).toEqual({ from: 'default' })
    }
  })
})

describe('If the patterns cannot be read,', () => {
  const sick = (stage: Stage) => ({
    before: ({ name, input }: Request) => {
      const isPatterns = (input.Key as { sk?: string } | undefined)?.sk === 'queues'
      if (name === 'GetCommand' && isPatterns) throw throttled()
    },
    clock: stage.clock,
  })

  it('queues are made all the same, with what the process knew last, and a walk follows.', async () => {
    const stage = openSimulated()
    await stage.engine().configurePatterns([tenant7])
    const queues = stage.engine()
    await push(queues, 'tenant-7.a', named('a', 1))
    await minutes(stage, 4)
    Object.assign(queues.wire.steering, sick(stage))
    await push(queues, 'tenant-7.b', named('a', 1))
    await push(stage.engine(sick(stage)), 'tenant-7.c', named('a', 1))
    expect(await sourceOf(queues, 'tenant-7.b')).toEqual(source)
    expect(await sourceOf(queues, 'tenant-7.c')).toEqual({ from: 'default' })
    await minutes(stage, 2)
    expect(await sourceOf(queues, 'tenant-7.c')).toEqual(source)
  })

  it('those who never had any are asked for nothing more.', async () => {
    const stage = openSimulated()
    await push(stage.engine(sick(stage)), 'a', named('a', 1))
    await stage.engine(sick(stage)).configure('b', { capacity: 3 })
    expect((await stage.store.rows()).map(({ pk }) => pk).sort()).toEqual(['q#a', 'q#b'])
  })
})

describe('A queue that is there', () => {
  const stage = useEmbedded()

  it('has new patterns within two minutes of the sweeper, and exact room.', async () => {
    const queues = stage.engine()
    await push(queues, 'tenant-7.b', named('a', 4))
    await push(queues, 'tenant-8.b', named('a', 4))
    const before = await stage.stored('tenant-8.b')
    await stage.engine().configurePatterns([tenant7])
    await minutes(stage, 2)
    const { configuration, room } = await stage.record('tenant-7.b')
    expect(configuration).toMatchObject({ source, maxDeliveries: 5, capacity: 10 })
    expect(room).toBe(6)
    expect(await stage.stored('tenant-8.b')).toEqual(before)
    await expectCode(push(queues, 'tenant-7.b', named('b', 7)), 'QUEUE_FULL')
    // Less than what is there: nobody can push until enough was taken.
    await queues.configurePatterns([{ prefix: 'tenant-7.', settings: { capacity: 2 } }])
    await minutes(stage, 2)
    expect((await stage.record('tenant-7.b')).room).toBe(-2)
    await queues.configurePatterns([])
    await minutes(stage, 2)
    await push(queues, 'tenant-7.b', named('b', 7))
    expect(await drain(queues, 'tenant-7.b')).toHaveLength(11)
  })

  it('keeps its own settings whole, until they are taken away.', async () => {
    const queues = stage.engine()
    await queues.configure('tenant-9.c', { segmentSize: 5 })
    await queues.configurePatterns([{ prefix: 'tenant-9.', settings: { capacity: 50 } }])
    await minutes(stage, 2)
    const before = await queues.configuration('tenant-9.c')
    expect(before).toMatchObject({ revision: 1, source: { from: 'queue' }, segmentSize: 5 })
    expect(before).not.toHaveProperty('capacity')
    await expectCode(queues.unconfigure('tenant-9.c', { ifMatch: 2 }), 'VERSION_MISMATCH')
    const given = await queues.unconfigure('tenant-9.c', { ifMatch: 1 })
    expect(given).toMatchObject({ revision: 2, capacity: 50, segmentSize: 100 })
    expect(await queues.unconfigure('tenant-9.c')).toEqual(given)
    expect(await stage.engine().configuration('tenant-9.c')).toEqual(given)
    // Its first own settings begin with the defaults.
    const ifMatch = configurationTag(given)
    const own = await queues.configure('tenant-9.c', { bufferSegments: 3 }, { ifMatch })
    expect(own).toMatchObject({ revision: 3, source: { from: 'queue' }, bufferSegments: 3 })
    expect(own).not.toHaveProperty('capacity')
  })

  it('is given back the newest patterns, also if it had others when it was asked.', async () => {
    const queues = stage.engine()
    const patterns = (capacity: number) => [{ prefix: 'back.', settings: { capacity } }]
    await queues.configurePatterns(patterns(3))
    await queues.configure('back.a', { segmentSize: 5 })
    let updates = 0
    const slow = stage.engine({
      async before({ name }) {
        if (name !== 'UpdateCommand') return
        updates += 1
        if (updates > 1) return
        await queues.configurePatterns(patterns(300))
        await queues.unconfigure('back.a')
        await queues.configure('back.a', { segmentSize: 7 })
      },
    })
    expect(await slow.unconfigure('back.a')).toMatchObject({ capacity: 300 })
    expect(await queues.configuration('back.a')).toMatchObject({ capacity: 300 })
  })

  it('has another tag with other patterns, so an old one does not pass for it.', async () => {
    const queues = stage.engine()
    const patterns = (capacity: number) => [{ prefix: 'tag.', settings: { capacity } }]
    await queues.configurePatterns(patterns(3))
    await push(queues, 'tag.a', named('a', 1))
    const one = await queues.configuration('tag.a')
    const nothing = await queues.inspect('tag.b')
    await queues.configurePatterns(patterns(300))
    await minutes(stage, 2)
    const two = await queues.configuration('tag.a')
    for (const ifMatch of [configurationTag(one), one.revision]) {
      const changed = queues.configure('tag.a', { capacity: 3 }, { ifMatch })
      await expectCode(changed, 'VERSION_MISMATCH')
      await expectCode(queues.unconfigure('tag.a', { ifMatch }), 'VERSION_MISMATCH')
      await expectCode(queues.configure('tag.b', {}, { ifMatch }), 'VERSION_MISMATCH')
    }
    expect((await queues.inspect('tag.b')).etag).not.toBe(nothing.etag)
    const own = await queues.configure('tag.a', {}, { ifMatch: configurationTag(two) })
    expect(configurationTag(own)).toBe('1')
    await queues.configure('tag.b', {}, { ifMatch: configurationTag(two) })
  })

  it('with a limit of its own asks for its record no more often because patterns had limited it.', async () => {
    const queues = stage.engine()
    const limits = (maxRequests: number) => ({ maxRequests, windowMillis: 86_400_000 })
    for (const n of [1, 2, 3]) {
      const settings = { popLimit: limits(n) }
      await queues.configurePatterns([{ prefix: 'own.', settings }])
    }
    await push(queues, 'own.a', named('a', 1))
    await queues.pop('own.a')
    await minutes(stage, 30)
    expect(await stage.stored('own.a')).toBeUndefined()
    await queues.configurePatterns([])
    await queues.configure('own.a', { popLimit: limits(50) })
    await push(queues, 'own.a', named('a', 5))
    await queues.pop('own.a')
    expect(await queues.wire.during(() => queues.pop('own.a'))).not.toContain('GetCommand')
  })

  it.each([
    ['a push', 'own.b', 1],
    ['its settings', 'own.c', 0],
  ])(
    'made again by %s has a limit of its own in every process, though patterns had limited it.',
    async (_, queue, pushes) => {
      const [older, queues] = [stage.engine(), stage.engine()]
      const limits = (maxRequests: number) => ({ maxRequests, windowMillis: 86_400_000 })
      await queues.configurePatterns([{ prefix: 'own.', settings: { popLimit: limits(1) } }])
      await push(older, queue, named('a', 1))
      await popItems(older, queue)
      await minutes(stage, 30)
      expect(await stage.stored(queue)).toBeUndefined()
      await queues.configurePatterns([])
      stage.clock.pass(60_000)
      if (pushes > 0) await push(queues, queue, named('a', pushes))
      await queues.configure(queue, { popLimit: limits(5) })
      await push(queues, queue, named('b', 9))
      const got: string[] = []
      for (const engine of [queues, older, queues, older, queues, older]) {
        const outcome = await engine.pop(queue).catch(({ code }) => code)
        got.push(outcome.kind ?? outcome)
      }
      expect(got).toEqual(['items', 'items', 'items', 'items', 'RATE_LIMITED', 'RATE_LIMITED'])
    },
  )

  it('tells before it is there what it would have.', async () => {
    const queues = stage.engine()
    await queues.configuration('tenant-7.none')
    await stage.engine().configurePatterns([tenant7])
    stage.clock.pass(1)
    expect(await sourceOf(queues, 'tenant-7.none')).toEqual(source)
    expect((await queues.inspect('tenant-7.none')).configuration.capacity).toBe(10)
    await stage.engine().configurePatterns([])
    stage.clock.pass(1)
    expect((await queues.inspect('tenant-7.none')).configuration).not.toHaveProperty('capacity')
    await stage.engine().configurePatterns([tenant7])
    stage.clock.pass(1)
    expect(await queues.unconfigure('tenant-7.none')).toMatchObject({ source, revision: 0 })
    expect(await stage.stored('tenant-7.none')).toBeUndefined()
  })

  it('loses a limit with the patterns, and a new one counts at once in every process.', async () => {
    const queues = stage.engine()
    const limited = (maxRequests: number): QueuePatternInput[] => [
      { prefix: 'lim', settings: { popLimit: { maxRequests, windowMillis: 3_600_000 } } },
    ]
    await queues.configurePatterns(limited(1))
    await push(queues, 'lim1', named('a', 9))
    await popItems(queues, 'lim1')
    await expectCode(queues.pop('lim1'), 'RATE_LIMITED')
    await queues.configurePatterns(limited(2))
    await minutes(stage, 2)
    await popItems(stage.engine(), 'lim1')
    await expectCode(stage.engine().pop('lim1'), 'RATE_LIMITED')
    await queues.configurePatterns([])
    await minutes(stage, 2)
    await popItems(queues, 'lim1')
  })
})

describe('The patterns', () => {
  it('are replaced whole, at the revision that was asked for, or not at all.', async () => {
    const queues = openSimulated().engine()
    expect(await queues.patterns()).toEqual({ revision: 0, patterns: [] })
    await queues.configurePatterns([tenant7], { ifMatch: 0 })
    await expectCode(queues.configurePatterns([], { ifMatch: 0 }), 'VERSION_MISMATCH')
    const patterns = [{ prefix: 'x', settings: { maxDeliveries: 2 } }]
    expect(await queues.configurePatterns(patterns, { ifMatch: 1 })).toEqual({
      revision: 2,
      patterns: [
        { prefix: 'x', settings: { segmentSize: 100, bufferSegments: 1, maxDeliveries: 2 } },
      ],
    })
  })

  const refused: readonly [string, unknown][] = [
    ['patterns', undefined],
    ['patterns', 'abc'],
    ['patterns[0]', [null]],
    ['patterns[1].settings', [tenant7, { prefix: 'a' }]],
    ['patterns[0].settings', [{ prefix: 'a', settings: null }]],
    ['patterns[0].max_delivery', [{ prefix: 'a', settings: { maxDelivery: 3 } }]],
    ['patterns', Array.from({ length: 101 }, (_, n) => ({ prefix: `p${n}`, settings: {} }))],
    ['patterns[1].prefix', [tenant7, { prefix: 'a b', settings: {} }]],
    ['patterns[1].prefix', [tenant7, tenant7]],
    ['patterns[0].capacity', [{ prefix: '', settings: { capacity: 0 } }]],
    [
      'patterns[0].push_limit.max_requests',
      [{ prefix: '', settings: { pushLimit: { maxRequests: 0 } } }],
    ],
  ]
  it.each(refused)('are refused with the field that is wrong: %s.', async (field, patterns) => {
    const queues = openSimulated().engine()
    const code = 'INVALID_PARAMETER'
    await expect(queues.configurePatterns(patterns as never)).rejects.toMatchObject({ code, field })
  })

  it('are changed once though the answer was lost, and by nobody else meanwhile.', async () => {
    const stage = openSimulated()
    let lost = 0
    const queues = stage.engine({
      after: ({ name }) => {
        if (name === 'TransactWriteCommand' && lost++ === 0) throw timedOut()
      },
    })
    expect(await queues.configurePatterns([tenant7], { ifMatch: 0 })).toMatchObject({ revision: 1 })
    expect(lost).toBe(1)
    expect(await stage.engine().patterns()).toMatchObject({ revision: 1 })
  })

  it('of which nobody knows whether they were changed are an unknown outcome.', async () => {
    const stage = openSimulated()
    const queues = stage.engine({
      after: async ({ name }, number) => {
        if (name !== 'TransactWriteCommand' || number > 3) return
        await stage.engine().configurePatterns([])
        throw timedOut()
      },
    })
    await expect(queues.configurePatterns([tenant7])).rejects.toMatchObject({ outcome: 'unknown' })
  })

  it('that cannot be sent again after an answer was lost are an unknown outcome.', async () => {
    const stage = openSimulated()
    let sendings = 0
    await stage.engine().configurePatterns([tenant7])
    const lost = stage.engine({
      before: ({ name }) => {
        if (name === 'TransactWriteCommand') throw sendings++ === 0 ? timedOut() : throttled()
      },
    })
    await expect(lost.configurePatterns([])).rejects.toMatchObject({ outcome: 'unknown' })
  })

  it('of a deployment replace others once, and hold until a deployment brings others.', async () => {
    const queues = openSimulated().engine()
    await queues.configurePatterns([{ prefix: 'by-hand', settings: {} }])
    const first = await queues.deployPatterns([tenant7], 'one')
    expect(first).toMatchObject({ revision: 2, replaced: { patterns: [{ prefix: 'by-hand' }] } })
    expect(await queues.deployPatterns([tenant7], 'one')).not.toHaveProperty('replaced')
    await queues.configurePatterns([])
    expect(await queues.deployPatterns([tenant7], 'one')).toEqual({ revision: 3, patterns: [] })
    expect(await queues.deployPatterns([], 'two')).toMatchObject({ revision: 4 })
  })

  it('of a deployment are replaced by one of two sweepers, and only this one says so.', async () => {
    const stage = openSimulated()
    const first = stage.engine()
    let isDone = false
    const second = stage.engine({
      async before({ name }) {
        if (isDone || name !== 'TransactWriteCommand') return
        isDone = true
        expect(await first.deployPatterns([tenant7], 'one')).toHaveProperty('replaced')
      },
    })
    const { replaced, revision } = await second.deployPatterns([tenant7], 'one')
    expect([isDone, revision, replaced]).toEqual([true, 1, undefined])
  })
})

describe('What patterns cost:', () => {
  it('a push to a queue that is there is one request, as before, for as many units.', async () => {
    const cost = async (patterns: readonly QueuePatternInput[]) => {
      const stage = openSimulated()
      const queues = stage.engine()
      await queues.configurePatterns(patterns)
      for (let n = 0; n < 100; n += 1) await push(queues, `t${n % 4}`, named(`a${n}`, 1))
      const [sent, units] = [queues.wire.sent.length, stage.store.writeUnits?.() ?? 0]
      for (let n = 0; n < 400; n += 1) await push(queues, `t${n % 4}`, named(`b${n}`, 1))
      return {
        requests: queues.wire.sent.length - sent,
        writeUnits: (stage.store.writeUnits?.() ?? 0) - units,
      }
    }
    const without = await cost([])
    const under = await cost([
      { prefix: 't', settings: { maxDeliveries: 5, capacity: 10_000 } },
      { prefix: 't1', settings: { maxDeliveries: 3, bufferSegments: 2, capacity: 10_000 } },
      { prefix: 'x', settings: { maxDeliveries: 2 } },
    ])
    expect(under.requests).toBe(without.requests)
    expect(under.writeUnits / without.writeUnits).toBeLessThanOrEqual(1.03)
  })

  it('ten thousand queues under three patterns: a read each half minute, and none is configured.', async () => {
    const stage = openSimulated()
    const queues = stage.engine()
    await queues.configurePatterns([
      { prefix: 'a.', settings: { maxDeliveries: 5 } },
      { prefix: 'b.', settings: { capacity: 10_000 } },
      { prefix: 'c.', settings: { maxDeliveries: 3, capacity: 500 } },
    ])
    const sent = queues.wire.sent.length
    for (let n = 0; n < 10_000; n += 1) {
      await push(queues, `${'abc'[n % 3]}.${n}`, named('x', 1))
      // A hundred new queues a second.
      stage.clock.pass(10)
    }
    const requests = queues.wire.sent.slice(sent)
    expect(requests.filter(({ name }) => name === 'GetCommand')).toHaveLength(4)
    expect(requests).toHaveLength(20_004)
    const rows = await stage.store.rows()
    const own = rows.filter(({ cfg }) => cfg !== undefined && !(cfg as { s?: string }).s)
    expect(own).toHaveLength(0)
    expect(rows.filter(({ cfg }) => cfg !== undefined)).toHaveLength(10_000)
  })
})
