import { describe, expect, it } from 'vitest'
import type { PoppedItem, Queues } from '../../engine/queues.ts'
import {
  requestTimeout,
  throttling,
  transactionCanceledByConflict,
} from '../../testing/simulated/network.ts'
import { openSimulated, type Stage } from './stage.ts'
import { bulky, codeOf, drain, popItems, push, pushOneByOne } from './traffic.ts'

// Transactions that are seen item by item: the record as after one, and a row as before it. And those that are refused.

const NAMED_MS = 1_893_456_000_000

const later = (name: string, count: number, delaySeconds: number, bytes = 100) =>
  Array.from({ length: count }, (_, n) => ({ text: bulky(`${name}${n}`, bytes), delaySeconds }))

const nameOf = ({ text }: { text: string }): string => text.slice(1, text.indexOf(':'))
const names = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${name}${n}`)

const rowsOf = async (stage: Stage, queue: string) =>
  (await stage.store.rows()).filter(({ pk }) => `${pk}`.startsWith(`t#${queue}#`))

/** While `hides`, reads show rows of a transaction so long after it, and the record at once. */
function onSettling(afterMs: number, hidden = 't#') {
  const transactions = { hides: false }
  const stage = openSimulated({
    settlesAfterMs: ({ pk }) => (transactions.hides && pk.startsWith(hidden) ? afterMs : 0),
  })
  /** Does so with a process that gets no answer to its transactions. */
  const halfSeen = async (work: (queues: ReturnType<Stage['engine']>) => Promise<unknown>) => {
    transactions.hides = true
    const unanswered = stage.engine({
      after({ name }) {
        if (name === 'TransactWriteCommand') throw requestTimeout()
      },
    })
    const result = await work(unanswered).catch(() => {})
    transactions.hides = false
    return result
  }
  return { stage, queues: stage.engine(), queue: stage.queue(), halfSeen }
}

/** Everything that can be had for now: while something is due that cannot be read, no pop says that there is nothing. */
async function drainUntilBusy(queues: Queues, queue: string): Promise<PoppedItem[]> {
  const items: PoppedItem[] = []
  for (;;) {
    const popped = await queues.pop(queue, { count: 100 }).catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'BUSY', retryable: true })
    })
    if (popped === undefined) return items
    if (popped.kind !== 'items') throw new Error(`Expected items, and got "${popped.kind}"`)
    items.push(...popped.items)
  }
}

describe('A row that cannot be read yet', () => {
  it('joins once it can, although others that are due after it have joined.', async () => {
    const { stage, queues, queue, halfSeen } = onSettling(60_000)
    await halfSeen((dying) => pushOneByOne(dying, queue, later('b', 30, 20)))
    await pushOneByOne(queues, queue, later('c', 30, 25))
    stage.clock.pass(26_000)
    const first = (await drainUntilBusy(stage.engine(), queue)).map(nameOf)
    expect(first).toEqual(expect.arrayContaining(names('c', 30)))
    expect(first.length).toBeLessThan(60)
    stage.clock.pass(60_000)
    const second = (await drain(stage.engine(), queue)).map(nameOf)
    expect([...first, ...second].sort()).toEqual([...names('b', 30), ...names('c', 30)].sort())
  })

  it('keeps its timer while others join.', async () => {
    const { stage, queues, queue, halfSeen } = onSettling(15_000)
    await pushOneByOne(queues, queue, later('a', 30, 10))
    await halfSeen((dying) => pushOneByOne(dying, queue, later('b', 16, 20)))
    stage.clock.pass(11_000)
    expect((await drainUntilBusy(queues, queue)).length).toBeGreaterThan(0)
    expect((await rowsOf(stage, queue)).length).toBeGreaterThan(0)
    stage.clock.pass(10_000)
    await stage.engine().returnExpiredLocks()
    expect((await queues.inspect(queue)).scheduledCount).toBe(0)
  })

  it('keeps its timer, too, if a move has put it.', async () => {
    const { stage, queues, queue, halfSeen } = onSettling(15_000)
    await pushOneByOne(queues, queue, later('a', 30, 10))
    const { ids } = await push(queues, queue, [{ text: '"b:"' }])
    const deliverAtMs = stage.clock.nowMs() + 20_000
    await halfSeen((dying) => dying.move(queue, { ids, deliverAtMs }))
    stage.clock.pass(11_000)
    expect((await drain(queues, queue)).map(nameOf)).toEqual(names('a', 30))
    stage.clock.pass(10_000)
    expect((await drain(queues, queue)).map(nameOf)).toEqual(['b'])
  })

  it('is named in the record until it was read.', async () => {
    const { stage, queues, queue, halfSeen } = onSettling(60_000)
    await halfSeen((dying) => pushOneByOne(dying, queue, later('b', 16, 300)))
    const hidden = await rowsOf(stage, queue)
    const unseen = async () => (await stage.record(queue)).scheduled.unseen
    expect(await unseen()).toEqual(hidden.map(({ sk }) => sk))
    await pushOneByOne(queues, queue, later('c', 16, 400))
    expect(await unseen()).toEqual(expect.arrayContaining(hidden.map(({ sk }) => sk)))
    stage.clock.pass(61_000)
    await pushOneByOne(queues, queue, later('d', 16, 500))
    const [row] = hidden
    expect(await unseen()).not.toContain(row?.sk)
  })

  it('holds no item that a call says is gone.', async () => {
    const { queues, queue, halfSeen } = onSettling(200)
    const ids = (await halfSeen((dying) =>
      pushOneByOne(dying, queue, later('b', 16, 300)),
    )) as string[]
    const results = await queues.cancel(queue, ids)
    expect(results.every(({ result }) => result === 'cancelled')).toBe(true)
    expect((await queues.inspect(queue)).scheduledCount).toBe(0)
  })

  it('holds no item of which a move of more than one write takes says that it is gone.', async () => {
    const { stage, queues, queue, halfSeen } = onSettling(200)
    const seen = await pushOneByOne(queues, queue, later('a', 50, 400))
    const hidden = (await halfSeen((dying) =>
      pushOneByOne(dying, queue, later('b', 20, 300)),
    )) as string[]
    const deliverAtMs = stage.clock.nowMs() + 600_000
    const moved = await queues.move(queue, { ids: [...seen, ...hidden], deliverAtMs })
    expect(moved.every(({ result }) => result === 'moved')).toBe(true)
    stage.clock.pass(601_000)
    expect((await drain(queues, queue)).map(nameOf)).toEqual([...names('b', 20), ...names('a', 50)])
  })

  it('joins within three seconds if it can be read a moment after Wake has come.', async () => {
    const { stage, queues, queue, halfSeen } = onSettling(2_500)
    await halfSeen((dying) => pushOneByOne(dying, queue, later('b', 16, 2)))
    const startMs = stage.clock.nowMs()
    await queues.wake({ untilMs: startMs + 2_000, deadlineMs: startMs + 60_000 })
    expect((await queues.inspect(queue)).scheduledCount).toBe(0)
    expect(stage.clock.nowMs() - startMs).toBeLessThan(6_000)
  })

  it('is deleted all the same by a purge.', async () => {
    const { stage, queues, queue, halfSeen } = onSettling(60_000)
    await halfSeen((dying) => pushOneByOne(dying, queue, later('b', 40, 300, 1_500)))
    expect((await rowsOf(stage, queue)).length).toBeGreaterThan(0)
    expect((await stage.rows(queue, 'b')).length).toBe(40)
    await queues.purge(queue)
    expect(await rowsOf(stage, queue)).toEqual([])
    expect(await stage.rows(queue, 'b')).toEqual([])
  })
})

describe('A record that is read as it was before a move', () => {
  it('says of no item that it is gone.', async () => {
    const { stage, queues, queue, halfSeen } = onSettling(200, 'q#')
    const { ids } = await push(queues, queue, later('a', 2, 300))
    const deliverAtMs = stage.clock.nowMs() + 600_000
    await halfSeen((dying) => dying.move(queue, { ids: ids.slice(0, 1), deliverAtMs }))
    const { items } = await stage.engine().scheduled(queue)
    const moved = items.map(({ id }) => id).filter((id) => !ids.includes(id))
    expect(moved).toHaveLength(1)
    const [result] = await stage.engine().cancel(queue, moved)
    expect(result?.result).toBe('cancelled')
  })
})

describe('A row that is read as it was before a cancel', () => {
  it('does not join: nobody gets what was cancelled.', async () => {
    const { stage, queues, queue, halfSeen } = onSettling(60_000)
    const ids = await pushOneByOne(queues, queue, later('a', 30, 10))
    const gone = ids.filter((_, n) => n % 2 === 0)
    await halfSeen((dying) => dying.cancel(queue, gone))
    stage.clock.pass(11_000)
    const first = (await drainUntilBusy(stage.engine(), queue)).map(nameOf)
    stage.clock.pass(60_000)
    const second = (await drain(stage.engine(), queue)).map(nameOf)
    expect([...first, ...second].sort()).toEqual(
      names('a', 30)
        .filter((_, n) => n % 2 === 1)
        .sort(),
    )
  })

  it('can be cancelled from again.', async () => {
    const { stage, queues, queue, halfSeen } = onSettling(200)
    const ids = await pushOneByOne(queues, queue, later('a', 30, 10))
    await halfSeen((dying) => dying.cancel(queue, ids.slice(0, 7)))
    const results = await queues.cancel(queue, ids.slice(5, 9))
    expect(results.map(({ result }) => result)).toEqual(['gone', 'gone', 'cancelled', 'cancelled'])
    stage.clock.pass(11_000)
    expect((await drain(queues, queue)).map(nameOf)).toEqual(names('a', 30).slice(9))
  })
})

const batchesOf = async (stage: Stage, queue: string): Promise<number> =>
  (await stage.rows(queue, 'b')).length + (await stage.objects(queue)).length

describe('A transaction that is refused again and again', () => {
  const refusing = (stage: Stage) =>
    stage.engine({
      before({ name }) {
        if (name === 'TransactWriteCommand') throw transactionCanceledByConflict(2)
      },
    })

  it('does not keep a pop from what is in its lanes, and leaves no batch.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await push(queues, queue, [{ text: '"now:"' }, { text: '"too:"' }])
    const ids = await pushOneByOne(queues, queue, later('a', 30, 300, 900))
    await queues.move(queue, { ids, deliverAtMs: stage.clock.nowMs() + 10_000 })
    await queues.configure(queue, { capacity: 12 })
    const batches = await batchesOf(stage, queue)
    stage.clock.pass(11_000)
    const refused = refusing(stage)
    const before = stage.clock.nowMs()
    expect((await popItems(refused, queue, { count: 100 })).items.map(nameOf)).toEqual([
      'now',
      'too',
    ])
    expect(stage.clock.nowMs() - before).toBeLessThan(500)
    const tries = refused.wire.sent.filter(({ name }) => name === 'TransactWriteCommand')
    expect(tries.length).toBeLessThanOrEqual(5)
    expect(await batchesOf(stage, queue)).toBe(batches)
  })

  /** Nothing is in the lanes, and the rows of a seal are due. */
  async function onlyDue() {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await pushOneByOne(queues, queue, later('a', 30, 10))
    stage.clock.pass(11_000)
    return { stage, queue }
  }

  it('does not let a pop say that there is nothing: it tries for some seconds, and then says "busy".', async () => {
    const { stage, queue } = await onlyDue()
    const [refused, startMs] = [refusing(stage), stage.clock.nowMs()]
    expect(await codeOf(refused.pop(queue))).toBe('BUSY')
    expect(stage.clock.nowMs() - startMs).toBeGreaterThan(500)
    expect(stage.clock.nowMs() - startMs).toBeLessThan(4_000)
    expect(refused.wire.sent.length).toBeLessThan(300)
  })

  it('and then passes lets a pop have what is due.', async () => {
    const { stage, queue } = await onlyDue()
    const passesMs = stage.clock.nowMs() + 300
    const held = stage.engine({
      before({ name }) {
        if (name !== 'TransactWriteCommand' || stage.clock.nowMs() > passesMs) return
        throw transactionCanceledByConflict(2)
      },
    })
    expect((await popItems(held, queue)).items.map(nameOf)).toEqual(['a0'])
  })

  it('is not repeated for long if the store throttles each request of it.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await push(queues, queue, later('a', 1, 10))
    stage.clock.pass(11_000)
    const startMs = stage.clock.nowMs()
    const throttled = stage.engine({
      before({ name }) {
        if (name === 'UpdateCommand') throw throttling()
      },
    })
    expect(await codeOf(throttled.pop(queue))).toBe('BUSY')
    expect(stage.clock.nowMs() - startMs).toBeLessThan(10_000)
  })

  it('leaves no batch of items that were to be moved.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    const ids = await pushOneByOne(queues, queue, later('a', 30, 300, 900))
    const batches = await batchesOf(stage, queue)
    const deliverAtMs = NAMED_MS + 600_000
    expect(await codeOf(refusing(stage).move(queue, { ids, deliverAtMs }))).toBe('BUSY')
    expect(await batchesOf(stage, queue)).toBe(batches)
  })
})
