import { describe, expect, it } from 'vitest'
import { QueueError } from '../../shared/errors.ts'
import { onSimulated } from './stage.ts'
import { bulky, drain, expectCode, popItems, push, textsOf } from './traffic.ts'
import { timedOut } from './wire.ts'

/** A producer that is alone seals before it appends; whoever comes between makes it step back. */

const text = (n: number): string => bulky(`n${n}`, 200)
const one = (n: number) => [{ text: text(n) }]
const texts = (count: number): string[] => Array.from({ length: count }, (_, n) => text(n))
/** A tail of so many has room for something small, and not for the item that is to seal. */
const FULL = 6
const large = bulky('large', 450)
const sealedFirst = (): string[] => [...texts(FULL), large]

async function fullTail() {
  const { stage, queue, queues } = onSimulated()
  for (let n = 0; n < FULL; n += 1) await push(queues, queue, one(n))
  const sealing = () => push(queues, queue, [{ text: large }])
  return { stage, queues, queue, sealing }
}

describe('A push of a producer that is alone', () => {
  it('seals with one request more, and leaves its own entry as all of the tail.', async () => {
    const { stage, queues, queue, sealing } = await fullTail()
    expect(await queues.wire.during(sealing)).toEqual(['PutCommand', 'UpdateCommand'])
    const lane = (await stage.record(queue)).lanes.get(0)
    expect([lane?.sealed, lane?.tail.length]).toEqual([FULL, 1])
    expect((await stage.record(queue)).appends).toBe(FULL + 1)
    const next = () => push(queues, queue, [{ text: '"next"' }])
    expect(await queues.wire.during(next)).toEqual(['UpdateCommand'])
    expect(textsOf(await drain(stage.engine(), queue))).toEqual([...sealedFirst(), '"next"'])
  })

  it('takes 1.13 requests, and the record is never over 2 KB.', async () => {
    const { stage, queue, queues } = onSimulated()
    let bytes = 0
    for (let n = 0; n < 801; n += 1) {
      await push(queues, queue, one(n))
      bytes = Math.max(bytes, await stage.recordBytes(queue))
    }
    expect(bytes).toBeLessThanOrEqual(2_048)
    // Three for the first, which looks at the patterns; one for each other, and a chunk for each eight.
    expect(queues.wire.sent).toHaveLength(3 + 800 + 100)
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(texts(801))
  })

  it('leaves a full tail to its next push, or to another that follows it.', async () => {
    const { stage, queue, queues } = onSimulated()
    for (let n = 0; n < 8; n += 1) await push(queues, queue, one(n))
    expect((await stage.record(queue)).lanes.get(0)?.tail).toHaveLength(8)
    const next = stage.engine()
    for (let n = 8; n < 11; n += 1) await push(next, queue, one(n))
    expect((await stage.record(queue)).lanes.get(0)?.tail).toHaveLength(1)
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(texts(11))
  })

  it('that pops as well is no company to itself.', async () => {
    const { queue, queues } = onSimulated()
    for (let n = 0; n < 20; n += 1) await push(queues, queue, one(n))
    const from = queues.wire.sent.length
    for (let n = 20; n < 100; n += 1) {
      await push(queues, queue, one(n))
      await popItems(queues, queue)
    }
    const sent = queues.wire.sent.slice(from).map(({ name }) => name)
    // One write for each, whether it seals or not; a copy for each eight.
    expect(sent.filter((name) => name === 'UpdateCommand')).toHaveLength(160)
    expect(sent.filter((name) => name === 'PutCommand').length).toBeGreaterThan(5)
  })

  it('after others have pushed it appends first, and seals afterwards.', async () => {
    const { stage, queues, queue, sealing } = await fullTail()
    await push(stage.engine(), queue, [{ text: '"other"' }])
    const sent = await queues.wire.during(sealing)
    // What it had copied for nothing is left: it is true all the same.
    expect(sent.slice(0, 3)).toEqual(['PutCommand', 'UpdateCommand', 'UpdateCommand'])
    const next = stage.engine()
    expect(textsOf(await drain(next, queue))).toEqual([...texts(FULL), '"other"', large])
  })

  it.each(['a push', 'a pop', 'a purge', 'a forgotten and new queue'] as const)(
    'with %s between its two requests does not happen twice, nor is anything lost.',
    async (what) => {
      const { stage, queues, queue, sealing } = await fullTail()
      const other = stage.engine()
      const between = {
        'a push': () => push(other, queue, [{ text: '"other"' }]),
        'a pop': () => popItems(other, queue, { count: 3 }),
        'a purge': () => other.purge(queue),
        'a forgotten and new queue': async () => {
          await other.purge(queue)
          stage.clock.pass(11 * 60_000)
          for (let run = 0; run < 3; run += 1) await other.returnExpiredLocks()
          expect(await stage.stored(queue)).toBeUndefined()
          await push(other, queue, [{ text: '"other"' }])
        },
      }[what]
      const expected = {
        'a push': [...texts(FULL), '"other"', large],
        'a pop': sealedFirst().slice(3),
        'a purge': [large],
        'a forgotten and new queue': ['"other"', large],
      }[what]
      let done = false
      queues.wire.steering = {
        before: async ({ name }) => {
          if (done || name !== 'UpdateCommand') return
          done = true
          await between()
        },
      }
      const { ids } = await sealing()
      expect(done).toBe(true)
      const { items } = await popItems(stage.engine(), queue, { count: 100 })
      expect(textsOf(items)).toEqual(expected)
      expect(items.at(-1)?.id).toBe(ids[0])
    },
  )

  it('is found by its mark when the answer is lost, under its own id, though others pushed since.', async () => {
    const { stage, queues, queue, sealing } = await fullTail()
    const other = stage.engine()
    let lost = false
    queues.wire.steering = {
      after: async ({ name }) => {
        if (lost || name !== 'UpdateCommand') return
        lost = true
        await push(other, queue, [{ text: '"other"' }])
        throw timedOut()
      },
    }
    const { ids } = await sealing()
    const { items } = await popItems(other, queue, { count: 100 })
    expect(textsOf(items)).toEqual([...sealedFirst(), '"other"'])
    expect(items.find(({ id }) => id === ids[0])?.text).toBe(large)
  })

  it('appends all the same when the copy cannot be written.', async () => {
    const { stage, queues, queue, sealing } = await fullTail()
    queues.wire.steering = {
      before: ({ name }) => {
        if (name === 'PutCommand') throw new Error('died')
      },
    }
    await sealing()
    expect(stage.background.map(({ step }) => step)).toContain('seal')
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(sealedFirst())
  })

  it('is refused by a queue that is full by then, and changes nothing.', async () => {
    const { stage, queue, queues } = onSimulated()
    await queues.configure(queue, { capacity: FULL + 1 })
    for (let n = 0; n < FULL; n += 1) await push(queues, queue, one(n))
    const from = queues.wire.sent.length
    let done = false
    queues.wire.steering = {
      before: async ({ name }) => {
        if (done || name !== 'UpdateCommand') return
        done = true
        // In another lane, so that the size of this tail does not tell, and too small to seal.
        await push(stage.engine(), queue, [{ text: '1', priority: 1 }])
      },
    }
    await expectCode(push(queues, queue, [{ text: large }]), 'QUEUE_FULL')
    expect(queues.wire.sent[from]?.name).toBe('PutCommand')
    const after = await stage.record(queue)
    expect(after.room).toBe(0)
    expect(textsOf(await drain(stage.engine(), queue))).toEqual([...texts(FULL), '1'])
  })

  it('says that nobody knows when its one write is never answered.', async () => {
    const { queues, sealing } = await fullTail()
    queues.wire.steering = {
      before: ({ name }) => {
        if (name === 'UpdateCommand' || name === 'GetCommand') throw timedOut()
      },
    }
    const error = await sealing().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(QueueError)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
  })

  it('with more lanes seals the largest, and appends to a small one as ever.', async () => {
    const { stage, queue, queues } = onSimulated()
    for (let n = 0; n < 6; n += 1) await push(queues, queue, one(n))
    await push(queues, queue, [{ text: '"small"', priority: 1 }])
    for (let n = 6; n < 9; n += 1) await push(queues, queue, [{ text: text(n), priority: 1 }])
    const { lanes } = await stage.record(queue)
    expect([...lanes.values()].reduce((sum, { sealed }) => sum + sealed, 0)).toBeGreaterThan(0)
    const all = [...texts(6), '"small"', ...texts(9).slice(6)]
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(all)
  })
})
