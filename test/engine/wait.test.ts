// Pops that wait, in time that passes only when all wait.

import { describe, expect, it } from 'vitest'
import { type DocumentPort, Dynamo } from '../../aws/dynamo.ts'
import type { PopOutcome, PopRequest, Queues, QueuesOptions } from '../../engine/queues.ts'
import { QueueError } from '../../shared/errors.ts'
import { Place } from '../lambdas/consumer/a-run.ts'

const Q = 'q'
const wait = (queues: Queues, request: PopRequest = {}) =>
  queues.pop(Q, { waitSeconds: 20, ...request })

const lockOn = async (place: Place, request: PopRequest = {}): Promise<string> => {
  const popped = await place.in(place.queues.pop(Q, { requireAck: true, ...request }))
  return (popped.kind === 'items' && popped.lock?.id) || ''
}

const notHeld = { waitedMs: 0 }

const texts = (outcome: PopOutcome) =>
  outcome.kind === 'items' ? outcome.items.map(({ text }) => text) : outcome.kind

/** As the SDK throws what came of a request. */
const fromSdk = (name: string, httpStatusCode = 400): Error =>
  Object.assign(new Error(name), { name, $metadata: { httpStatusCode } })

type Command = { readonly input: { readonly Key?: { readonly pk?: unknown } } }

/** The store, with something in front of each request for a seat; `n` counts them from 1. */
function seatsThrough(
  place: Place,
  meets: (n: number, send: () => Promise<unknown>) => Promise<unknown>,
): Pick<QueuesOptions, 'dynamodb' | 'waitingPopsMax'> & { readonly asked: () => number } {
  let asked = 0
  const dynamodb = {
    send(command: Command) {
      const send = () => place.dynamodb.send(command as never)
      if (command.input.Key?.pk !== 'waiting') return send()
      asked += 1
      return meets(asked, send)
    },
  }
  return { dynamodb: dynamodb as DocumentPort, waitingPopsMax: 5, asked: () => asked }
}

const refused = async () => {
  throw fromSdk('AccessDeniedException')
}

describe('A pop that waits', () => {
  it('answers at once if there is something.', async () => {
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
    const outcome = await place.in(wait(place.queues, { waitSeconds: 3 }))
    expect(outcome).toMatchObject({ kind: 'empty' })
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
    expect(await place.in(waiting)).toMatchObject({ kind: 'empty' })
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

  it('does not wait until a clock that was set back has caught up.', async () => {
    const place = new Place()
    const nowMs = () => place.clock.nowMs() - (place.ms > 1_000 ? 3_600_000 : 0)
    const engine = place.engine({ clock: { ...place.clock, nowMs } })
    expect((await place.in(wait(engine, { waitSeconds: 3 }))).kind).toBe('empty')
    expect(place.ms).toBeLessThan(5_000)
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

  it('does not say "locked", which changes nothing, if it has acknowledged.', async () => {
    const place = new Place()
    await place.pushTo(Q, 'a')
    const acknowledge = await lockOn(place)
    const waiting = wait(place.engine(), { requireAck: true, acknowledge, waitSeconds: 3 })
    await place.pass(1_000)
    // Another consumer is faster.
    await place.pushTo(Q, 'b')
    await lockOn(place, { ttlSeconds: 60 })
    expect(await place.in(waiting)).toMatchObject({
      kind: 'empty',
      more: true,
      itemsAcknowledged: 1,
    })
  })

  it('says what it has acknowledged if a limit that its queue got meanwhile refuses its last look.', async () => {
    const place = new Place()
    await place.pushTo(Q, 'a')
    const acknowledge = await lockOn(place)
    const waiting = wait(place.engine(), { requireAck: true, acknowledge, waitSeconds: 3 })
    await place.pass(1_000)
    const popLimit = { maxRequests: 1, windowMillis: 60_000 }
    await place.in(place.queues.configure(Q, { popLimit }))
    await place.in(place.queues.pop(Q))
    const outcome = await place.in(waiting)
    expect(outcome).toMatchObject({ kind: 'empty', more: true, itemsAcknowledged: 1 })
    expect(outcome.waitedMs).toBeGreaterThan(2_900)
  })

  it('and is sent again with its key gets the same items as soon as the first one has them.', async () => {
    const place = new Place()
    const request = { requireAck: true, idempotencyKey: 'k' }
    const endedMs: number[] = []
    const both = [1, 2].map(async () => {
      const outcome = await wait(place.engine(), request)
      endedMs.push(place.ms)
      return outcome
    })
    await place.pass(1_000)
    await place.pushTo(Q, 'a')
    const [one, two] = await place.in(Promise.all(both))
    expect([one, two].map((it) => it && texts(it))).toEqual([['"a"'], ['"a"']])
    expect(one?.kind === 'items' && one.lock).toEqual(two?.kind === 'items' && two.lock)
    expect(Math.max(...endedMs)).toBeLessThan(2_000)
  })

  it('tells how long it did, and not if there was something at once.', async () => {
    const place = new Place()
    await place.pushTo(Q, 'a')
    expect(await place.in(wait(place.engine()))).not.toHaveProperty('waitedMs')
    const waiting = wait(place.engine())
    await place.pass(2_000)
    await place.pushTo(Q, 'b')
    const { waitedMs = 0 } = await place.in(waiting)
    expect(waitedMs).toBeGreaterThan(1_900)
    expect(waitedMs).toBeLessThan(2_600)
    const stop = new AbortController()
    stop.abort()
    expect(await place.in(wait(place.engine(), { signal: stop.signal }))).not.toMatchObject(notHeld)
  })

  it('takes a slot of a limit that its queue got meanwhile.', async () => {
    const place = new Place()
    const waiting = [1, 2, 3].map(() => wait(place.engine(), { competing: true }))
    for (const one of waiting) one.catch(() => {})
    await place.pass(500)
    const popLimit = { maxRequests: 1, windowMillis: 60_000 }
    await place.in(place.queues.configure(Q, { popLimit }))
    await place.pushTo(Q, 'a', 'b', 'c')
    const ended = await place.in(Promise.allSettled(waiting))
    const got = ended.flatMap((it) => (it.status === 'fulfilled' ? texts(it.value) : []))
    expect(got).toEqual(['"a"'])
    const errors = ended.flatMap((it) => (it.status === 'rejected' ? [it.reason.code] : []))
    expect(errors).toEqual(['RATE_LIMITED', 'RATE_LIMITED'])
  })

  it.each([
    ['and counts', 0, ['"a"']],
    ['but not by a clock that is off', 30_000, 'STORE_UNAVAILABLE'],
  ])('asks such a limit however long it has waited, %s.', async (_, offMs, expected) => {
    const place = new Place()
    const nowMs = () => place.clock.nowMs() + (place.ms > 1_000 ? offMs : 0)
    const engine = place.engine({ clock: { ...place.clock, nowMs } })
    await place.pushTo(Q, 'old')
    await place.in(place.queues.pop(Q))
    const [receivedMs, waitSeconds] = [place.clock.nowMs(), 20]
    const waiting = wait(engine, { receivedMs, waitSeconds }).then(texts, ({ code }) => code)
    await place.pass(offMs === 0 ? 17_000 : 990)
    const popLimit = { maxRequests: 1, windowMillis: 60_000 }
    await place.in(place.queues.configure(Q, { popLimit }))
    if (offMs === 0) await place.pushTo(Q, 'a')
    expect(await place.in(waiting)).toEqual(expected)
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
    expect(all.filter((it) => it.waitedMs === 0)).toHaveLength(995)
  })

  it('leave their seats to others when they end.', async () => {
    const place = new Place()
    const engine = place.engine({ waitingPopsMax: 1 })
    for (let n = 0; n < 3; n += 1) {
      const startMs = place.ms
      await place.in(wait(engine, { waitSeconds: 1 }))
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
    expect(await place.in(wait(engine, { waitSeconds: 1 }))).toMatchObject(notHeld)
    await place.pass(7_000)
    expect(await place.in(wait(engine, { waitSeconds: 1 }))).not.toMatchObject(notHeld)
  })

  it('get different items, each one.', async () => {
    const place = new Place()
    const waiting = [1, 2, 3].map(() => wait(place.engine(), { competing: true, requireAck: true }))
    await place.pass(2_000)
    await place.pushTo(Q, 'a', 'b', 'c')
    const got = (await place.in(Promise.all(waiting))).flatMap(texts)
    expect([...got].sort()).toEqual(['"a"', '"b"', '"c"'])
  })

  it('are not held at all if the bound is 0, and say that a locked queue is locked.', async () => {
    const place = new Place()
    const engine = place.engine({ waitingPopsMax: 0 })
    expect(await place.in(wait(engine))).toEqual({ kind: 'empty', ...notHeld })
    await place.pushTo(Q, 'a')
    await lockOn(place)
    expect((await place.in(wait(engine))).kind).toBe('locked')
    expect(place.ms).toBeLessThan(1_000)
  })

  it.each([
    ['refused', refused],
    [
      'lost',
      async () => {
        throw fromSdk('InternalServerError', 500)
      },
    ],
  ])('answer what they popped, also if leaving the seat is %s.', async (_, leaves) => {
    const place = new Place()
    const steps: string[] = []
    const seats = seatsThrough(place, (n, send) => (n === 1 ? send() : leaves()))
    const onBackgroundError = (_: unknown, { step }: { step: string }) => void steps.push(step)
    const waiting = wait(place.engine({ ...seats, onBackgroundError }))
    await place.pass(1_000)
    await place.pushTo(Q, 'a')
    expect(texts(await place.in(waiting))).toEqual(['"a"'])
    expect(steps).toEqual(['leave-seat'])
  })

  it('are not held, and say what they acknowledged, if nobody may ask for a seat.', async () => {
    const place = new Place()
    await place.pushTo(Q, 'a')
    const acknowledge = await lockOn(place)
    const steps: string[] = []
    const onBackgroundError = (_: unknown, { step }: { step: string }) => void steps.push(step)
    const engine = place.engine({ ...seatsThrough(place, refused), onBackgroundError })
    const outcome = await place.in(wait(engine, { requireAck: true, acknowledge }))
    expect(outcome).toEqual({ kind: 'empty', itemsAcknowledged: 1, ...notHeld })
    expect(steps).toEqual(['take-seat'])
  })

  it('lose no seat by a lost answer, neither of taking it nor of leaving it.', async () => {
    const place = new Place()
    const seats = seatsThrough(place, async (n, send) => {
      const answer = await send()
      // Of the first taking, and of each first leaving.
      if (n % 3 === 1) throw fromSdk('InternalServerError', 500)
      return answer
    })
    const options = { ...seats, waitingPopsMax: 1, onBackgroundError() {} }
    expect(await place.in(wait(place.engine(options), { waitSeconds: 1 }))).toMatchObject(notHeld)
    for (let n = 0; n < 3; n += 1) {
      const outcome = await place.in(wait(place.engine(options), { waitSeconds: 1 }))
      expect(outcome).not.toMatchObject(notHeld)
    }
  })

  it('are not given away by another that asked in the same moment and did not learn its answer.', async () => {
    const place = new Place()
    const seats = seatsThrough(place, async (n, send) => {
      if (n !== 2) return send()
      await send().catch(() => {})
      throw fromSdk('InternalServerError', 500)
    })
    const options = { ...seats, waitingPopsMax: 1, onBackgroundError() {} }
    const held = [place.engine(options), place.engine(options)].map((engine) => wait(engine))
    await place.pass(100)
    expect(await place.in(wait(place.engine(options), { waitSeconds: 1 }))).toMatchObject(notHeld)
    await place.in(Promise.all(held))
  })

  it('ask for a seat once, and not again at once, if all are taken or the row is too busy.', async () => {
    const place = new Place()
    const busy = seatsThrough(place, async () => {
      throw fromSdk('ThrottlingException')
    })
    const engine = place.engine({ ...busy, onBackgroundError() {} })
    const startMs = place.ms
    for (let n = 0; n < 10; n += 1) {
      expect(await place.in(wait(engine))).toMatchObject(notHeld)
    }
    expect(busy.asked()).toBe(1)
    // No back-off either.
    expect(place.ms - startMs).toBeLessThan(10)

    const full = seatsThrough(place, (_, send) => send())
    const held = wait(place.engine({ ...full, waitingPopsMax: 1 }), { waitSeconds: 10 })
    await place.pass(100)
    const other = place.engine({ ...full, waitingPopsMax: 1 })
    for (let n = 0; n < 10; n += 1) await place.in(wait(other))
    expect(full.asked()).toBe(2)
    await place.in(held)
    // Its seat was left, and the memory of a full row is short.
    expect(await place.in(wait(other, { waitSeconds: 1 }))).not.toMatchObject(notHeld)
  })

  it('are held again by a process whose clock was set back after it had found all seats taken.', async () => {
    const place = new Place()
    const held = wait(place.engine({ waitingPopsMax: 1 }), { waitSeconds: 2 })
    await place.pass(100)
    let backMs = 0
    const clock = { ...place.clock, nowMs: () => place.clock.nowMs() - backMs }
    const engine = place.engine({ waitingPopsMax: 1, clock })
    expect(await place.in(wait(engine))).toMatchObject(notHeld)
    await place.in(held)
    backMs = 3_600_000
    expect(await place.in(wait(engine, { waitSeconds: 1 }))).not.toMatchObject(notHeld)
  })

  it('that a busy row of seats refuses do not make the engine think the table is busy.', async () => {
    const place = new Place()
    const busy = seatsThrough(place, async () => {
      throw fromSdk('ThrottlingException')
    })
    const dynamo = new Dynamo(busy.dynamodb as DocumentPort, 'table', place.clock, Math.random)
    const written = await dynamo.updateOnce({ pk: 'waiting', sk: 'seats' }, {})
    expect(written.kind).toBe('refused')
    expect(dynamo.throttledSince(0)).toBe(false)
  })
})
