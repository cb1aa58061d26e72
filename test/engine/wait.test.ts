// Pops that wait, in time that passes only when all wait.

import { describe, expect, it } from 'vitest'
import type { PopOutcome, PopRequest, Queues } from '../../lambdas/engine/queues.ts'
import { QueueError } from '../../lambdas/foundation/errors.ts'
import { Place } from '../consumer/a-run.ts'

const Q = 'q'
const wait = (queues: Queues, request: PopRequest = {}) =>
  queues.pop(Q, { waitSeconds: 20, ...request })

const lockOn = async (place: Place, request: PopRequest = {}): Promise<string> => {
  const popped = await place.in(place.queues.pop(Q, { requireAck: true, ...request }))
  return (popped.kind === 'items' && popped.lock?.id) || ''
}

const texts = (outcome: PopOutcome) =>
  outcome.kind === 'items' ? outcome.items.map(({ text }) => text) : outcome.kind

describe('A pop that waits', () => {
  it('answers at once where there is something.', async () => {
    const place = new Place()
    await place.pushTo(Q, 'a')
    expect(texts(await place.in(wait(place.queues)))).toEqual(['"a"'])
    expect(place.ms).toBeLessThan(50)
  })

  it.each([
    ['that is there', true],
    ['that nobody has pushed to', false],
  ])('gets what comes meanwhile, in a queue %s.', async (_, exists) => {
    const place = new Place()
    if (exists) {
      await place.pushTo(Q, 'old')
      await place.in(place.queues.pop(Q))
    }
    const waiting = wait(place.engine())
    await place.pass(7_000)
    await place.pushTo(Q, 'a', 'b')
    expect(texts(await place.in(waiting))).toEqual(['"a"'])
    expect(place.ms).toBeLessThan(7_500)
  })

  it('says that there is nothing when its time is over, and not before.', async () => {
    const place = new Place()
    expect(await place.in(wait(place.queues, { waitSeconds: 3 }))).toEqual({ kind: 'empty' })
    expect(Math.floor(place.ms)).toBe(3_000)
  })

  it('sees at its end what its looks did not.', async () => {
    const place = new Place()
    // What its looks read is older than that.
    const dynamodb = {
      async send(command: { readonly input: { readonly ConsistentRead?: boolean } }) {
        const { ConsistentRead: isCurrent } = command.input
        return isCurrent === false ? {} : place.dynamodb.send(command as never)
      },
    }
    const waiting = wait(place.engine({ dynamodb }), { waitSeconds: 2 })
    await place.pass(1_000)
    await place.pushTo(Q, 'a')
    expect(texts(await place.in(waiting))).toEqual(['"a"'])
    expect(place.ms).toBeGreaterThan(1_999)
  })

  it('says so sooner if its signal comes.', async () => {
    const place = new Place()
    const stop = new AbortController()
    const waiting = wait(place.queues, { signal: stop.signal })
    await place.pass(2_000)
    stop.abort()
    expect(await place.in(waiting)).toEqual({ kind: 'empty' })
    expect(place.ms).toBeLessThan(2_500)
  })

  it('waits for the end of a lock, and then has its items.', async () => {
    const place = new Place()
    await place.pushTo(Q, 'a')
    const lockId = await lockOn(place)
    const waiting = wait(place.engine(), { requireAck: true })
    await place.pass(5_000)
    await place.in(place.queues.release(Q, { lockId }))
    expect(texts(await place.in(waiting))).toEqual(['"a"'])
    expect(place.ms).toBeLessThan(5_500)
  })

  it('gets what an expired lock gives back.', async () => {
    const place = new Place()
    await place.pushTo(Q, 'a')
    await lockOn(place, { ttlSeconds: 4 })
    expect(texts(await place.in(wait(place.engine())))).toEqual(['"a"'])
    expect(place.ms).toBeGreaterThanOrEqual(4_000)
    expect(place.ms).toBeLessThan(4_500)
  })

  it('says at its end that the queue is locked, if it is.', async () => {
    const place = new Place()
    await place.pushTo(Q, 'a')
    await lockOn(place, { ttlSeconds: 60 })
    const outcome = await place.in(wait(place.queues, { waitSeconds: 2 }))
    expect(outcome.kind).toBe('locked')
    expect(place.ms).toBeGreaterThanOrEqual(2_000)
  })

  it('passes by a lock where consumers compete, and waits for what is free.', async () => {
    const place = new Place()
    await place.pushTo(Q, 'a')
    await lockOn(place, { competing: true })
    const waiting = wait(place.engine(), { competing: true, requireAck: true })
    await place.pass(3_000)
    await place.pushTo(Q, 'b')
    expect(texts(await place.in(waiting))).toEqual(['"b"'])
  })

  it('acknowledges before it waits, and says so with what comes.', async () => {
    const place = new Place()
    await place.pushTo(Q, 'a')
    const acknowledge = await lockOn(place)
    const waiting = wait(place.engine(), { requireAck: true, acknowledge })
    await place.pass(1_000)
    expect((await place.in(place.queues.inspect(Q, { consistent: true }))).count).toBe(0)
    await place.pushTo(Q, 'b')
    expect(await place.in(waiting)).toMatchObject({ kind: 'items', itemsAcknowledged: 1 })
  })

  it('does not wait with a lock that it could not acknowledge: its items would come again.', async () => {
    const place = new Place()
    await place.pushTo(Q, 'a', 'b')
    const acknowledge = await lockOn(place)
    await lockOn(place, { competing: true })
    const outcome = await place.in(wait(place.queues, { requireAck: true, acknowledge }))
    expect(outcome.kind).toBe('locked')
    expect(place.ms).toBeLessThan(100)
  })

  it('says "unknown" if it fails after it has acknowledged.', async () => {
    const place = new Place()
    await place.pushTo(Q, 'a')
    const acknowledge = await lockOn(place)
    const engine = place.engine({
      clock: {
        ...place.clock,
        async sleep(ms, signal) {
          if (place.ms > 500) throw new QueueError('STORE_UNAVAILABLE', 'gone')
          await place.clock.sleep(ms, signal)
        },
      },
    })
    const waiting = wait(engine, { requireAck: true, acknowledge })
    await expect(place.in(waiting)).rejects.toMatchObject({ outcome: 'unknown' })
  })

  it('is counted once by the limit of its queue.', async () => {
    const place = new Place()
    const popLimit = { maxRequests: 2, windowMillis: 60_000 }
    await place.in(place.queues.configure(Q, { popLimit }))
    await place.in(wait(place.queues, { waitSeconds: 5 }))
    expect(texts(await place.in(place.queues.pop(Q)))).toBe('empty')
    await expect(place.in(place.queues.pop(Q))).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  })

  it('looks three or four times a second, and no look writes.', async () => {
    const place = new Place()
    await place.pushTo(Q, 'a')
    await place.in(place.queues.pop(Q))
    const { writeUnits, readUnits } = { ...place.meter }
    await place.in(wait(place.queues))
    expect(place.meter.writeUnits).toBe(writeUnits)
    expect(place.meter.readUnits - readUnits).toBeGreaterThan(25)
    expect(place.meter.readUnits - readUnits).toBeLessThan(45)
  })

  it.each([0, 21, 1.5, Number.NaN])('is refused for %s seconds.', async (waitSeconds) => {
    const place = new Place()
    await expect(place.in(wait(place.queues, { waitSeconds }))).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      field: 'wait_seconds',
    })
  })
})

describe('Pops that wait at once', () => {
  it('are so many over all processes, and the others are answered at once.', async () => {
    const place = new Place()
    const outcomes = Array.from({ length: 1_000 }, () =>
      wait(place.engine({ waitingPopsMax: 5 }), { waitSeconds: 10 }),
    )
    let answered = 0
    for (const one of outcomes) void one.then(() => (answered += 1))
    await place.pass(9_000)
    expect(answered).toBe(995)
    const all = await place.in(Promise.all(outcomes))
    expect(all.filter((it) => it.kind === 'empty' && it.waited === false)).toHaveLength(995)
  })

  it('leave their seats to others when they end.', async () => {
    const place = new Place()
    const engine = place.engine({ waitingPopsMax: 1 })
    for (let n = 0; n < 3; n += 1) {
      const startMs = place.ms
      expect(await place.in(wait(engine, { waitSeconds: 1 }))).toEqual({ kind: 'empty' })
      expect(place.ms - startMs).toBeGreaterThan(998)
    }
  })

  it('leave them also when they die, once their time is over.', async () => {
    const place = new Place()
    const dies = place.engine({
      waitingPopsMax: 1,
      clock: { ...place.clock, sleep: () => new Promise(() => {}) },
    })
    void wait(dies, { waitSeconds: 2 })
    await place.pass(1_000)
    const engine = place.engine({ waitingPopsMax: 1 })
    expect(await place.in(wait(engine, { waitSeconds: 1 }))).toMatchObject({ waited: false })
    await place.pass(7_000)
    expect(await place.in(wait(engine, { waitSeconds: 1 }))).toEqual({ kind: 'empty' })
  })

  it('get different items, each one.', async () => {
    const place = new Place()
    const waiting = [1, 2, 3].map(() => wait(place.engine(), { competing: true, requireAck: true }))
    await place.pass(2_000)
    await place.pushTo(Q, 'a', 'b', 'c')
    const got = (await place.in(Promise.all(waiting))).flatMap(texts)
    expect([...got].sort()).toEqual(['"a"', '"b"', '"c"'])
  })

  it('are not held at all where the bound is 0, and say that a locked queue is locked.', async () => {
    const place = new Place()
    const engine = place.engine({ waitingPopsMax: 0 })
    expect(await place.in(wait(engine))).toEqual({ kind: 'empty', waited: false })
    await place.pushTo(Q, 'a')
    await lockOn(place)
    expect((await place.in(wait(engine))).kind).toBe('locked')
    expect(place.ms).toBeLessThan(1_000)
  })
})
