// How the queues of a run are left, against a service that is a list of calls.

import { afterEach, expect, test, vi } from 'vitest'
import { type Estate, makeEstate } from '../../../cli/verify/estate.ts'
import type { Client, Configuration, ConfigurationChange, Queue } from '../../../client/index.ts'

afterEach(() => {
  vi.useRealTimers()
})

const defaults: Configuration = {
  segmentSize: 100,
  bufferSegments: 1,
  source: { from: 'queue' },
}

/** `deadCounts`: what each look at a queue says is on its way to its dead-letter queue. */
function anEstate(deadCounts: number[] = []): { estate: Estate; calls: string[] } {
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
  return { estate: makeEstate({ settings: defaults, defaults, cleanerUntil: () => client }), calls }
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
