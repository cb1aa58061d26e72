import { PutCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import { scheduledSortKey } from '../../engine/core/keys.ts'
import { partitionOf, storedRow } from '../../engine/requests/later-rows.ts'
import { onSimulated, type Stage } from './stage.ts'
import { bulky, drain, named, popItems, push, pushOneByOne, textsOf } from './traffic.ts'
import { throttled } from './wire.ts'

// Rows of items for later: which there are, who looks where for an item, and who deletes them.

const later = (name: string, count: number, delaySeconds: (n: number) => number, bytes = 100) =>
  Array.from({ length: count }, (_, n) => ({
    text: bulky(`${name}${n}`, bytes),
    delaySeconds: delaySeconds(n),
  }))

const nameOf = ({ text }: { text: string }): string => text.slice(1, text.indexOf(':'))
const names = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${name}${n}`)

const rowsOf = async (stage: Stage, queue: string) =>
  (await stage.store.rows()).filter(({ pk }) => `${pk}`.startsWith(`t#${queue}#`))

/** Rows with nothing in them, as a cancel of an earlier version left them, before all others. */
async function plantEmptied(stage: Stage, queue: string, count: number): Promise<void> {
  const record = await stage.record(queue)
  const second = Math.floor(stage.clock.nowMs() / 1_000)
  for (let n = 0; n < count; n += 1) {
    const row = { sk: scheduledSortKey(second + n, 1), entries: [] }
    const Item = storedRow(partitionOf(record), row)
    const put = new PutCommand({ TableName: stage.store.tableName, Item })
    await stage.store.dynamodb.send(put as never)
  }
}

describe('An item that waits in the record while others are moved', () => {
  it('within its queue can still be cancelled by its id.', async () => {
    const { stage, queues, queue } = onSimulated()
    const { ids } = await push(queues, queue, [{ text: '"x"', delaySeconds: 1_000 }])
    let others = (await push(queues, queue, [{ text: '"o"', delaySeconds: 2_000 }])).ids
    for (let n = 0; n < 40; n += 1) {
      const deliverAtMs = stage.clock.nowMs() + 3_000_000 + 1_000 * n
      const [result] = await queues.move(queue, { ids: others, deliverAtMs })
      others = [(result as { newId: string }).newId]
    }
    await pushOneByOne(
      queues,
      queue,
      later('n', 30, () => 1_500),
    )
    const { entries } = (await stage.record(queue)).scheduled
    expect(entries.some((entry) => entry.includes('"x"'))).toBe(false)
    expect((await queues.cancel(queue, ids))[0]?.result).toBe('cancelled')
    expect((await queues.cancel(queue, others))[0]?.result).toBe('cancelled')
    stage.clock.pass(4_000_000)
    expect((await drain(queues, queue)).map(nameOf)).toEqual(names('n', 30))
  })

  it('from another queue into its own can still be cancelled by its id.', async () => {
    const { stage, queues, queue } = onSimulated()
    const to = stage.queue()
    const { ids } = await push(queues, to, [{ text: '"x"', delaySeconds: 1_000 }])
    for (let n = 0; n < 40; n += 1) {
      const moved = await push(queues, queue, [{ text: '1', delaySeconds: 2_000 }])
      await queues.move(queue, { ids: moved.ids, queue: to })
    }
    await pushOneByOne(
      queues,
      to,
      later('n', 30, () => 1_500),
    )
    expect((await queues.cancel(to, ids))[0]?.result).toBe('cancelled')
    expect((await queues.inspect(to)).scheduledCount).toBe(70)
  })
})

describe('A row', () => {
  it('of which a cancel takes everything is deleted.', async () => {
    const { stage, queues, queue } = onSimulated()
    const ids = await pushOneByOne(
      queues,
      queue,
      later('n', 50, (n) => 100_000 + n),
    )
    expect((await rowsOf(stage, queue)).length).toBeGreaterThan(30)
    await queues.cancel(queue, ids)
    expect(await rowsOf(stage, queue)).toEqual([])
  })

  it('that an earlier version left empty does not hold up what is due behind it.', async () => {
    const { stage, queues, queue } = onSimulated()
    await pushOneByOne(
      queues,
      queue,
      later('n', 20, () => 200),
    )
    await plantEmptied(stage, queue, 90)
    // The record knows of the first of them.
    const stored = await stage.stored(queue)
    await stage.plant({ ...(stored as object), nd: stage.clock.nowMs() / 1_000 } as never)
    stage.clock.pass(201_000)
    expect((await drain(queues, queue)).map(nameOf)).toEqual(names('n', 20))
    expect(await rowsOf(stage, queue)).toEqual([])
  })

  it('of many items that were moved to one time is small, and each keeps its id and its place.', async () => {
    const { stage, queues, queue } = onSimulated()
    const ids = await pushOneByOne(
      queues,
      queue,
      later('n', 45, (n) => 100_000 + n, 900),
    )
    const deliverAtMs = stage.clock.nowMs() + 50_000
    const moved = await queues.move(queue, { ids, deliverAtMs })
    const newIds = moved.map((result) => (result as { newId: string }).newId)
    const [row, ...others] = await rowsOf(stage, queue)
    expect(others).toEqual([])
    expect((row as { d: Uint8Array }).d.length).toBeLessThan(1_024)
    expect((await queues.scheduled(queue, { limit: 100 })).items.map(({ id }) => id)).toEqual(
      newIds,
    )
    await queues.cancel(queue, [newIds[7] as string])
    stage.clock.pass(51_000)
    const items = await drain(queues, queue)
    expect(items.map(nameOf)).toEqual(names('n', 45).toSpliced(7, 1))
    expect(items.map(({ scheduledId }) => scheduledId)).toEqual(newIds.toSpliced(7, 1))
    await queues.housekeep(queue)
    expect((await stage.rows(queue, 'b')).length).toBe(0)
  })
})

describe('A full queue of which more is due than it has room for', () => {
  it('joins a part of a row, and takes pushes for later with a record that stays small.', async () => {
    const { stage, queues, queue } = onSimulated()
    const ids = await pushOneByOne(
      queues,
      queue,
      later('m', 45, (n) => 100_000 + n, 900),
    )
    await queues.move(queue, { ids, deliverAtMs: stage.clock.nowMs() + 50_000 })
    await pushOneByOne(
      queues,
      queue,
      later('n', 30, () => 51, 300),
    )
    await queues.configure(queue, { capacity: 10 })
    await push(queues, queue, named('a', 10))
    stage.clock.pass(60_000)
    const bytes = await stage.recordBytes(queue)
    const popped: string[] = []
    for (let n = 0; n < 60; n += 1) {
      popped.push(...textsOf((await popItems(queues, queue)).items))
      await push(
        queues,
        queue,
        later(`z${n}-`, 1, () => 500),
      )
      expect(await stage.recordBytes(queue)).toBeLessThan(bytes + 5_000)
    }
    for (let pops = 0; pops < 30; pops += 1) {
      const outcome = await queues.pop(queue, { count: 100 })
      if (outcome.kind === 'items') popped.push(...textsOf(outcome.items))
    }
    expect(popped.slice(10).map((text) => nameOf({ text }))).toEqual([
      ...names('m', 45),
      ...names('n', 30),
    ])
    expect(await queues.inspect(queue)).toMatchObject({ count: 0, scheduledCount: 60 })
  })
})

describe('The list of what is scheduled', () => {
  it('shows no item twice if others are moved between two pages.', async () => {
    const { stage, queues, queue } = onSimulated()
    const ids = await pushOneByOne(
      queues,
      queue,
      later('a', 3, () => 300),
    )
    const { ids: waiting } = await push(queues, queue, named('w', 2))
    const first = await queues.scheduled(queue, { limit: 1 })
    // One of them to the same second: it comes before what is still in the record.
    const soonMs = first.items[0]?.dueMs as number
    const to = [soonMs, soonMs + 60_000]
    for (const [n, deliverAtMs] of to.entries()) {
      await queues.move(queue, { ids: waiting.slice(n, n + 1), deliverAtMs })
    }
    expect(stage.clock.nowMs()).toBeLessThan(soonMs)
    const rest = await queues.scheduled(queue, { cursor: first.cursor })
    const listed = [...first.items, ...rest.items].map(({ id }) => id)
    expect(listed.filter((id) => ids.includes(id))).toEqual(ids)
    expect(listed).toHaveLength(5)
  })

  it('shows no item twice if they go to rows between its read of the record and that of the rows.', async () => {
    const { stage, queues, queue } = onSimulated()
    const ids = await pushOneByOne(
      queues,
      queue,
      later('a', 6, () => 300),
    )
    let isSealed = false
    const lists = stage.engine({
      async before({ name }) {
        if (name !== 'QueryCommand' || isSealed) return
        isSealed = true
        await pushOneByOne(
          queues,
          queue,
          later('b', 12, () => 600),
        )
        expect((await stage.record(queue)).scheduled.seals).toBe(1)
      },
    })
    const { items } = await lists.scheduled(queue, { limit: 100 })
    const listed = items.map(({ id }) => id)
    expect(isSealed).toBe(true)
    expect(listed.slice(0, 6)).toEqual(ids)
    expect(new Set(listed).size).toBe(listed.length)
  })

  it('ends a page after so many rows with nothing in them, and goes on behind these.', async () => {
    const { stage, queues, queue } = onSimulated()
    await pushOneByOne(
      queues,
      queue,
      later('n', 20, () => 100_000),
    )
    await plantEmptied(stage, queue, 1_100)
    const reader = stage.engine()
    const first = await reader.scheduled(queue)
    expect(first.items).toEqual([])
    expect(reader.wire.sent.filter(({ name }) => name === 'QueryCommand').length).toBe(40)
    const { items, cursor } = await reader.scheduled(queue, { cursor: first.cursor })
    expect({ names: items.map(nameOf), cursor }).toEqual({
      names: names('n', 20),
      cursor: undefined,
    })
  })
})

it('A join that was written keeps its batches, even if nobody can read the record after it.', async () => {
  const { stage, queues, queue } = onSimulated()
  await queues.configure(queue, { capacity: 5 })
  const items = later('a', 20, () => 5, 2_000)
  await push(queues, queue, items)
  // So many that the record is sealed, and the bulk is in a row.
  await pushOneByOne(
    queues,
    queue,
    later('b', 30, () => 60, 200),
  )
  stage.clock.pass(6_000)
  let isWritten = false
  const blind = stage.engine({
    before: ({ name }) => {
      if (isWritten && name === 'GetCommand') throw throttled()
    },
    after: ({ name }) => {
      isWritten ||= name === 'TransactWriteCommand'
    },
  })
  await blind.pop(queue).catch(() => undefined)
  expect(isWritten).toBe(true)
  await queues.configure(queue, { capacity: 1_000 })
  expect(textsOf(await drain(stage.engine(), queue))).toEqual(items.map(({ text }) => text))
})

it.each([1, 12])(
  'A join whose time is up deletes the batches of %i lanes that it wrote for nothing.',
  async (lanes) => {
    const { stage, queues, queue } = onSimulated()
    for (let n = 0; n < 8; n += 1) {
      for (let priority = 0; priority < lanes; priority += 1) {
        await push(queues, queue, [
          { text: bulky(`p${priority}n${n}`, 500), priority, delaySeconds: 5 },
        ])
      }
    }
    stage.clock.pass(6_000)
    const deadlineMs = stage.clock.nowMs() + 1_000
    const batches = async () =>
      (await stage.store.rows()).filter(({ pk }) => `${pk}`.startsWith(`b#${queue}#`)).length
    let written = 0
    const sweeper = stage.engine({
      async after({ name }) {
        if (name !== 'PutCommand') return
        written += 1
        if (written === 1) stage.clock.pass(1_000)
      },
    })
    await sweeper.returnExpiredLocks({ deadlineMs })
    // Eight lanes at once.
    expect(written).toBe(Math.min(lanes, 8))
    expect(await batches()).toBe(0)
    expect(await drain(stage.engine(), queue)).toHaveLength(8 * lanes)
  },
)

it('A join whose time is up deletes the object that it wrote for nothing.', async () => {
  const { stage, queues, queue } = onSimulated()
  for (let n = 0; n < 30; n += 1) {
    await push(queues, queue, [{ text: bulky(`${n}`, 800), delaySeconds: 5 }])
  }
  stage.clock.pass(6_000)
  const deadlineMs = stage.clock.nowMs() + 1_000
  let written = 0
  const sweeper = stage.engine({
    async after({ name }) {
      if (name !== 'PutObjectCommand') return
      written += 1
      stage.clock.pass(1_000)
    },
  })
  await sweeper.returnExpiredLocks({ deadlineMs })
  expect(written).toBe(1)
  expect(await stage.objects(queue)).toEqual([])
  expect(await drain(stage.engine(), queue)).toHaveLength(30)
})
