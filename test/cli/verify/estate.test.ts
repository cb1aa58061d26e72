// How the queues of a run are taken and left, against a service that is a list of calls, and the handlers in this process.

import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  type Estate,
  giveBackKeptPair,
  type KeptPair,
  makeEstate,
  takeKeptPair,
} from '../../../cli/verify/estate.ts'
import {
  type Client,
  type Configuration,
  type ConfigurationChange,
  createClient,
  type Queue,
} from '../../../client/index.ts'
import { fetchBy } from '../../lambdas/http/handler-call.ts'
import { simulatedService } from '../../lambdas/http/service.ts'

afterEach(() => {
  vi.useRealTimers()
})

const defaults: Configuration = {
  segmentSize: 100,
  bufferSegments: 1,
  source: { from: 'queue' },
}

/** `deadCounts`: what each look at a queue says is on its way to its dead-letter queue. */
function anEstate(
  deadCounts: number[] = [],
  settings = defaults,
): { estate: Estate; calls: string[] } {
  const calls: string[] = []
  const capacities = new Map<string, unknown>()
  let revision = 0
  const queue = (id: string) => ({
    async purge() {
      calls.push(`purge ${id}`)
    },
    async inspect() {
      calls.push(`inspect ${id}`)
      return { count: 0, deadCount: deadCounts.shift() ?? 0 }
    },
    async configure(change: ConfigurationChange, options?: { ifMatch: string }) {
      revision += 1
      capacities.set(id, change.capacity)
      const condition = options === undefined ? '' : ` if ${options.ifMatch}`
      calls.push(`configure ${id} ${JSON.stringify(change)}${condition}`)
    },
    async configuration() {
      return { capacity: capacities.get(id), etag: `${revision}` }
    },
  })
  async function* queues() {}
  const client = {
    queue: (id: string) => queue(id) as unknown as Queue,
    queues,
  } as unknown as Client
  return { estate: makeEstate({ settings, defaults, cleanerUntil: () => client }), calls }
}

test('A queue is emptied, then its dead-letter queue, once nothing is on its way there.', async () => {
  const { estate, calls } = anEstate([2, 1, 0])
  const id = estate.newQueue('order')
  const other = estate.newQueue('text')
  estate.deadLettersOf(id)
  await estate.clear('order')
  expect(calls).toEqual([
    `purge ${id}`,
    `inspect ${id}`,
    `inspect ${id}`,
    `inspect ${id}`,
    `purge ${id}-deadletter`,
  ])
  await estate.clear('text')
  expect(calls.at(-1)).toBe(`purge ${other}`)
})

test('So is one whose settings make items die of themselves.', async () => {
  const { estate, calls } = anEstate([], { ...defaults, maxDeliveries: 1 })
  const id = estate.newQueue('locks')
  await estate.clear('locks')
  expect(calls).toEqual([`purge ${id}`, `inspect ${id}`, `purge ${id}-deadletter`])
})

test.each(['settings', 'limits'] as const)(
  'Works on the kept queue for %s take turns, and each finds it as it was taken.',
  async (kind) => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_900_000_000_000 })
    const { estate, calls } = anEstate()
    const work = (name: string) => async (id: string) => {
      calls.push(`${name} begins`)
      await new Promise((resolve) => setImmediate(resolve))
      calls.push(`${name} ends`)
      if (name === 'first') throw new Error(`no ${id}`)
    }
    const works = [estate.withKept(kind, work('first')), estate.withKept(kind, work('second'))]
    expect((await Promise.allSettled(works)).map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
    ])
    await estate.close()

    const kept = estate.kept()
    const [, name] = /^pushpop-verify-settings-(\w{6})$/.exec(kept[0] ?? '') ?? []
    const limits = `pushpop-verify-limits-${name}`
    expect(kept).toEqual([`pushpop-verify-settings-${name}`, limits])
    const plain =
      '{"segmentSize":100,"bufferSegments":1,"maxDeliveries":null,"capacity":null,"itemTtlSeconds":null,"expired":null,"pushLimit":null,"popLimit":null}'
    const taken = plain.replace('"capacity":null', '"capacity":1900000000')
    const id = kind === 'limits' ? limits : kept[0]
    const reset = [`purge ${id}`, `configure ${id} ${kind === 'limits' ? taken : plain}`]
    expect(calls).toEqual([
      `configure ${limits} ${taken}`,
      'first begins',
      'first ends',
      ...reset,
      'second begins',
      'second ends',
      ...reset,
      `configure ${limits} ${plain} if 3`,
    ])
    expect(estate.leftBehind).toEqual([])
  },
)

describe('the pair of queues whose settings are changed', () => {
  let client: Client
  let initial: Configuration
  beforeAll(async () => {
    const fetch = fetchBy(simulatedService().call)
    client = createClient({ url: 'http://handlers.invalid', fetch })
    const { etag: _, ...settings } = await client.queue('never-used').configuration()
    initial = settings
  })
  const take = (nowMs?: number) => takeKeptPair(client, initial, nowMs)
  const giveBack = (pair: KeptPair) => giveBackKeptPair(client, pair, initial)

  test('is another one for each of the runs that meet, and taken again when it is given back', async () => {
    // One that is free, which all of them see.
    await giveBack(await take())
    const taken = await Promise.all([take(), take(), take()])
    expect(new Set(taken.map(({ ids }) => ids.limits)).size).toBe(3)
    await giveBack(taken[1])
    const again = await take()
    expect(again.ids).toEqual(taken[1].ids)
    for (const pair of [taken[0], taken[2], again]) await giveBack(pair)
  })

  test('is none that holds an item: a person has it', async () => {
    const pair = await take()
    await giveBack(pair)
    for (const id of Object.values(pair.ids)) {
      const queue = client.queue(id)
      await queue.push('mine')
      const before = await queue.inspect({ consistent: true })
      const other = await take()
      expect(other.ids).not.toEqual(pair.ids)
      expect(await queue.inspect({ consistent: true })).toEqual(before)
      await giveBack(other)
      await queue.purge()
    }
  })

  test('may have other settings than the defaults of today, and has these when it is taken', async () => {
    const pair = await take()
    await giveBack(pair)
    for (const id of Object.values(pair.ids)) {
      await client.queue(id).configure({ segmentSize: 17, maxDeliveries: 7 })
    }
    const again = await take()
    expect(again.ids).toEqual(pair.ids)
    for (const [kind, id] of Object.entries(again.ids)) {
      const { etag: _, ...settings } = await client.queue(id).configuration()
      const capacity = kind === 'limits' && { capacity: again.takenAt }
      expect(settings).toEqual({ ...initial, ...capacity, source: { from: 'queue' } })
    }
    await giveBack(again)
  })

  test.each([
    ['an hour', 1],
    ['an hour, by a clock that was ahead of ours', -1],
  ])('is taken over from a run that was killed, after %s', async (_, sign) => {
    const nowMs = Date.now()
    const killed = await take(nowMs)
    // In the midst of checks.
    await client.queue(killed.ids.settings).configure({ capacity: 3 })
    await client.queue(killed.ids.settings).push('left')
    await client.queue(killed.ids.limits).push('left')
    const meanwhile = await take(nowMs + sign * 3_600_000)
    expect(meanwhile.ids).not.toEqual(killed.ids)
    const after = await take(nowMs + sign * 3_601_000)
    expect(after.ids).toEqual(killed.ids)
    for (const id of Object.values(after.ids)) {
      expect((await client.queue(id).inspect({ consistent: true })).count).toBe(0)
    }
    expect((await client.queue(after.ids.settings).configuration()).capacity).toBeUndefined()
    // It was not dead, but asleep: it leaves the pair to the run that has it.
    await giveBack(killed)
    const { capacity } = await client.queue(after.ids.limits).configuration()
    expect(capacity).toBe(after.takenAt)
    await giveBack(after)
    await giveBack(meanwhile)
  })

  test('is a few, however many runs are killed', async () => {
    const nowMs = Date.now() + 86_400_000
    for (let run = 0; run < 8; run += 1) await take(nowMs + run * 1_000)
    const laterMs = nowMs + 7_200_000
    const before = await idsOf(client)
    for (let run = 0; run < 20; run += 1) await giveBack(await take(laterMs))
    expect(await idsOf(client)).toEqual(before)
  })
})

async function idsOf(client: Client): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of client.queues({ prefix: 'pushpop-verify-limits-' })) ids.push(id)
  return ids
}
