import { describe, expect, it } from 'vitest'
import { deadLetterQueueOf } from '../../shared/bounds.ts'
import { QueueError } from '../../shared/errors.ts'
import { everyOther, Ledger } from './ledger.ts'
import { type EngineOnWire, openSimulated, type Stage } from './stage.ts'
import type { Locked } from './traffic.ts'
import { freezeAt } from './wire.ts'

/**
 * A process is frozen before each of its requests in turn, while others go on; then it wakes up
 * and does what it had in mind.
 */

const MINUTE_MS = 60_000

type Scene = { readonly stage: Stage; readonly ledger: Ledger; readonly lock: Locked | undefined }

/** A queue with some of everything: S3, chunks, batches, a tail, locks, dead and returned items. */
async function setScene(): Promise<Scene> {
  const stage = openSimulated()
  const ledger = new Ledger(stage, stage.queue())
  const [queues, { queue }] = [stage.engine(), ledger]
  await queues.configure(queue, { segmentSize: 4, maxDeliveries: 3 })
  await ledger.push(queues, ledger.items('a', 40, 5))
  for (const item of ledger.items('a', 12, 5, 200)) await ledger.push(queues, [item])
  await ledger.push(queues, ledger.items('a', 3, 7))
  await queues.housekeep(queue)
  const [dead, back, part] = [
    await ledger.pop(queues, { count: 2, requireAck: true }),
    await ledger.pop(queues, { count: 2, requireAck: true, competing: true }),
    await ledger.pop(queues, { count: 5, requireAck: true, competing: true }),
  ]
  await queues.deadLetter(queue, { lockId: dead?.lock.id ?? '', reason: 'bad' })
  await queues.release(queue, { lockId: back?.lock.id ?? '' })
  await ledger.acknowledge(queues, part, everyOther(part))
  const claimed = await ledger.pop(queues, { count: 3, requireAck: true, competing: true })
  await ledger.acknowledge(queues, claimed)
  const request = { count: 4, requireAck: true, competing: true, ttlSeconds: 100 }
  return { stage, ledger, lock: await ledger.pop(queues, request) }
}

type Actor = (scene: Scene) => (queues: EngineOnWire) => Promise<unknown>

const actors: Readonly<Record<string, Actor>> = {
  'a push':
    ({ ledger }) =>
    (queues) =>
      ledger.push(queues, ledger.items('p', 1, 5)),
  'a push that seals': ({ ledger }) => {
    const items = ledger.items('p', 6, 5, 300)
    return async (queues) => {
      for (const item of items) await ledger.push(queues, [item])
    }
  },
  'a push to a new lane':
    ({ ledger }) =>
    (queues) =>
      ledger.push(queues, ledger.items('p', 2, 1)),
  'a bulk push':
    ({ ledger }) =>
    (queues) =>
      ledger.push(queues, ledger.items('p', 60, 5, 40)),
  'a bulk push to 70 lanes': ({ ledger }) => {
    const items = Array.from({ length: 70 }, (_, lane) => ledger.items('p', 1, lane)).flat()
    return (queues) => ledger.push(queues, items)
  },
  'a push with a key': ({ ledger }) => {
    const items = ledger.items('p', 2, 5)
    return (queues) => ledger.push(queues, items, 'key')
  },
  'a bulk push with a key': ({ ledger }) => {
    const items = ledger.items('p', 60, 5, 40)
    return (queues) => ledger.push(queues, items, 'key')
  },
  'a pop':
    ({ ledger }) =>
    (queues) =>
      ledger.pop(queues, { count: 7, competing: true }),
  'an exclusive pop':
    ({ ledger }) =>
    (queues) =>
      ledger.pop(queues, { count: 7 }),
  'a pop and its acknowledge':
    ({ ledger }) =>
    async (queues) => {
      const request = { count: 20, requireAck: true, competing: true }
      await ledger.acknowledge(queues, await ledger.pop(queues, request))
    },
  'two pops in one call each with the acknowledge':
    ({ ledger }) =>
    async (queues) => {
      const first = await ledger.pop(queues, { requireAck: true, competing: true })
      await ledger.acknowledge(queues, await ledger.combined(queues, first))
    },
  'a pop with a key':
    ({ ledger }) =>
    async (queues) => {
      const request = { count: 3, requireAck: true, competing: true, idempotencyKey: 'key' }
      await ledger.acknowledge(queues, await ledger.pop(queues, request))
    },
  'an acknowledge':
    ({ ledger, lock }) =>
    (queues) =>
      ledger.acknowledge(queues, lock),
  'an acknowledge of a part':
    ({ ledger, lock }) =>
    (queues) =>
      ledger.acknowledge(queues, lock, everyOther(lock)),
  'an extension':
    ({ ledger, lock }) =>
    (queues) =>
      queues.extend(ledger.queue, { lockId: lock?.lock.id ?? '', ttlSeconds: 200 }),
  'a release':
    ({ ledger, lock }) =>
    (queues) =>
      queues.release(ledger.queue, { lockId: lock?.lock.id ?? '', ids: everyOther(lock) }),
  'a dead-lettering':
    ({ ledger, lock }) =>
    (queues) =>
      queues.deadLetter(ledger.queue, { lockId: lock?.lock.id ?? '' }),
  'a purge':
    ({ ledger }) =>
    (queues) =>
      ledger.purge(queues),
  'a redrive':
    ({ ledger }) =>
    (queues) =>
      queues.redrive(deadLetterQueueOf(ledger.queue)),
  'a configuration':
    ({ ledger }) =>
    (queues) =>
      queues.configure(ledger.queue, { bufferSegments: 3, maxDeliveries: null }),
  housekeeping:
    ({ ledger }) =>
    (queues) =>
      queues.housekeep(ledger.queue),
  'a sweep': () => (queues) => queues.returnExpiredLocks(),
  'a browsing':
    ({ ledger }) =>
    (queues) =>
      queues.browse(ledger.queue, { limit: 100 }),
  'an inspection':
    ({ ledger }) =>
    (queues) =>
      queues.inspect(ledger.queue),
  'a listing': () => (queues) => queues.list(),
}

type Meanwhile = (scene: Scene) => Promise<void>

const meanwhiles: Readonly<Record<string, Meanwhile>> = {
  'others work for a moment': async (scene) => {
    scene.stage.clock.pass(1_000)
    await work(scene)
  },
  'others work for three minutes': async (scene) => {
    await work(scene)
    scene.stage.clock.pass(3 * MINUTE_MS)
    await work(scene)
  },
  'others drain the queue, forget it and use it again': async (scene) => {
    const { stage, ledger } = scene
    const queues = stage.engine()
    // Its configuration would keep it: as if it had never been set.
    await forgetConfiguration(scene)
    for (let round = 0; round < 12; round += 1) {
      stage.clock.pass(2 * MINUTE_MS)
      await queues.returnExpiredLocks()
      for (const queue of [ledger.queue, deadLetterQueueOf(ledger.queue)]) {
        await queues.housekeep(queue)
      }
      await ledger.pop(queues, { count: 100 })
    }
    await ledger.push(queues, ledger.items('n', 3, 5))
    await ledger.push(queues, ledger.items('n', 40, 5))
    await ledger.pop(queues, { count: 2 })
  },
}

async function work({ stage, ledger }: Scene): Promise<void> {
  const [one, two] = [stage.engine(), stage.engine()]
  await ledger.push(one, ledger.items('b', 2, 5))
  await ledger.push(two, ledger.items('b', 30, 5))
  for (let round = 0; round < 3; round += 1) {
    const claimed = await ledger.pop(two, { count: 3, requireAck: true, competing: true })
    await ledger.pop(one, { count: 2, competing: true })
    await ledger.acknowledge(one, claimed)
  }
  await one.returnExpiredLocks()
  await two.housekeep(ledger.queue)
  await ledger.push(two, ledger.items('b', 1, 0))
}

async function forgetConfiguration({ stage, ledger }: Scene): Promise<void> {
  const stored = await stage.stored(ledger.queue)
  if (stored === undefined) return
  const { cfg: _, ...rest } = stored
  await stage.plant({ ...rest, v: rest.v + 1, m: `${rest.m}forgot`.slice(-96) })
}

async function requestsOf(actor: Actor): Promise<number> {
  const scene = await setScene()
  const queues = scene.stage.engine()
  await actor(scene)(queues)
  return queues.wire.sent.length
}

describe.each(Object.keys(meanwhiles))('While a process is frozen, %s', (meanwhile) => {
  it.each(Object.keys(actors))('before each request of %s.', async (name) => {
    const actor = actors[name] as Actor
    const requests = await requestsOf(actor)
    for (let request = 1; request <= requests; request += 1) {
      const scene = await setScene()
      const frozen = freezeAt(request)
      const act = actor(scene)
      const acting = act(scene.stage.engine(frozen)).catch((error: unknown) => {
        if (!(error instanceof QueueError)) throw error
      })
      await Promise.race([frozen.reached, acting])
      await meanwhiles[meanwhile]?.(scene)
      frozen.thaw()
      await acting
      await scene.ledger.close({ redriven: name.includes('redrive') }).catch((error: unknown) => {
        throw new Error(`frozen before request ${request}`, { cause: error })
      })
    }
    expect(requests).toBeGreaterThan(0)
  })
})
