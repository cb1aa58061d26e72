// One item of a batch fails every time. Its neighbours must not die of it, whoever takes them and however
// slow the service is: without latency, consumers on one clock never meet.

import { describe, expect, it } from 'vitest'
import type { Queues } from '../../../engine/queues.ts'
import type { Item } from '../../../shared/worker/run.ts'
import { Random } from '../../../testing/random.ts'
import { type ManyRunOptions, Place } from './a-run.ts'

const QUEUE = 'q'
const GOOD = Array.from({ length: 9 }, (_, n) => `good ${n}`)

const failing = (items: readonly Item<unknown>[]): void => {
  if (items.some(({ value }) => value === 'poison')) throw new Error('never')
}

/** A network: 10 to 20 ms there, and 5 back. */
function slow(place: Place, random: Random) {
  const verbs = ['pop', 'browse', 'list', 'acknowledge', 'extend', 'release', 'deadLetter'] as const
  return (engine: Queues): Partial<Queues> =>
    Object.fromEntries(
      verbs.map((verb) => [
        verb,
        async (...args: unknown[]) => {
          await place.clock.sleep(10 + 10 * random.next())
          const answer = await (engine[verb] as (...all: unknown[]) => Promise<unknown>)(...args)
          await place.clock.sleep(5)
          return answer
        },
      ]),
    )
}

const deadOf = async (place: Place) =>
  (await place.in(place.queues.browse(`${QUEUE}-deadletter`))).items.map(({ text }) =>
    JSON.parse(text),
  )

async function deadAfter(processes: number, seed: number, options: ManyRunOptions) {
  const place = new Place()
  const random = new Random(seed)
  const manies = []
  for (let n = 0; n < processes; n += 1) {
    await place.pass(random.next() * 500)
    const handler = async (items: readonly Item<unknown>[]) => {
      await place.clock.sleep(20)
      failing(items)
    }
    const through = slow(place, random)
    manies.push(place.many({ queues: [QUEUE] }, handler, { batchSize: 10, ...options, through }))
  }
  await place.pass(100 + random.next() * 500)
  await place.pushTo(QUEUE, 'poison', ...GOOD)
  await place.pass(60_000)
  for (const { stop, ended } of manies) {
    stop()
    await place.in(ended)
  }
  return deadOf(place)
}

/** One item in four fails, in one of two priorities; a consumer is replaced after each 0.2 to 1.7 s. */
async function deadAfterRestarts(seed: number, maxDeliveries: number) {
  const place = new Place()
  const random = new Random(seed)
  const handler = async (items: readonly Item<unknown>[]) => {
    await place.clock.sleep(20 + random.next() * 60)
    failing(items)
  }
  const options = { batchSize: 10, maxDeliveries, through: slow(place, random) }
  const start = () => place.many({ queues: [QUEUE] }, handler, options)
  const manies = [start(), start(), start()]
  const stopFirst = async () => {
    const many = manies.shift()
    many?.stop()
    if (many !== undefined) await place.in(many.ended)
  }
  for (let restarts = 0; restarts < 40; restarts += 1) {
    const texts = ['"poison"', '1', '2', '3']
    const items = texts.map((text) => ({ text, priority: random.pick([0, 1]) }))
    if (restarts < 10) await place.in(place.queues.push(QUEUE, { items }))
    await place.pass(200 + random.next() * 1_500)
    await stopFirst()
    manies.push(start())
  }
  await place.pass(60_000)
  while (manies.length > 0) await stopFirst()
  return deadOf(place)
}

describe('One poison item in a batch of ten', () => {
  it.each([
    [1, 2, true],
    [1, 3, true],
    [3, 3, true],
    [1, 3, false],
    [2, 1, false],
    [2, 2, false],
    [3, 3, false],
    [4, 5, false],
  ])(
    'dies alone with %i processes and %i deliveries, competing: %s.',
    async (processes, maxDeliveries, competing) => {
      for (let seed = 1; seed <= 6; seed += 1) {
        const dead = await deadAfter(processes, seed, { maxDeliveries, competing })
        expect(dead, `seed ${seed}`).toEqual(['poison'])
      }
    },
  )

  it('dies alone although its consumers are restarted all the time.', async () => {
    const place = new Place()
    await place.pushTo(QUEUE, 'poison', ...GOOD)
    for (let start = 0; start < 8; start += 1) {
      const options = { batchSize: 10, maxDeliveries: 3 }
      const { stop, ended } = place.many({ queues: [QUEUE] }, failing, options)
      await place.pass(700)
      stop()
      await place.in(ended)
    }
    expect(await deadOf(place)).toEqual(['poison'])
  })

  it('dies alone although three consumers with priorities restart every second.', async () => {
    for (const maxDeliveries of [1, 3]) {
      for (let seed = 1; seed <= 5; seed += 1) {
        const dead = await deadAfterRestarts(seed, maxDeliveries)
        expect(dead.filter((value) => value !== 'poison')).toEqual([])
        expect(dead).toHaveLength(10)
      }
    }
  })

  it('that comes back behind a fresh item of a better priority is handed out by itself.', async () => {
    const place = new Place()
    const push = (priority: number, ...texts: string[]) =>
      place.in(place.queues.push(QUEUE, { items: texts.map((text) => ({ text, priority })) }))
    await push(1, '"poison"', '"good"')
    const popped = await place.in(place.queues.pop(QUEUE, { requireAck: true, count: 2 }))
    const lockId = popped.kind === 'items' ? (popped.lock?.id as string) : ''
    await place.in(place.queues.release(QUEUE, { lockId }))
    await push(0, '"fresh 1"', '"fresh 2"')
    const batches: unknown[][] = []
    const options = { queue: QUEUE, batchSize: 10, maxDeliveries: 2 }
    await place.run((items) => {
      batches.push(items.map(({ value }) => value))
      failing(items)
    }, options)
    expect(batches).toEqual([['fresh 1', 'fresh 2'], ['poison'], ['good']])
    expect(await deadOf(place)).toEqual(['poison'])
  })
})
