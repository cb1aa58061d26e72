import { describe, expect, it } from 'vitest'
import type { EventEntry } from '../../../lambdas/runtime/put-events.ts'
import { BYTES_PER_CALL, callsOf, putEvents } from '../../../lambdas/runtime/put-events.ts'
import { ABus, aRun, type Trouble } from '../background/announcements/a-bus.ts'

const entry = (id: number, bytes = 0): EventEntry => ({
  EventBusName: 'bus',
  Source: 'pushpop',
  DetailType: 'Items Available',
  Time: new Date(0),
  Detail: JSON.stringify({ id: `e${id}`, queue: 'q', ballast: 'x'.repeat(bytes) }),
})
const some = (count: number) => Array.from({ length: count }, (_, id) => entry(id))

async function put(count: number, trouble: Trouble = () => undefined, remainingMs = () => 60_000) {
  const bus = new ABus()
  bus.trouble = trouble
  const run = aRun(remainingMs)
  const givenUp: unknown[] = []
  const failed = await putEvents(some(count), {
    ...run,
    port: bus,
    onGivenUp: (entries, error) => givenUp.push([entries, error]),
  })
  return { bus, failed: [...failed], ids: bus.details.map(({ id }) => id), givenUp, ...run }
}

const refuse =
  (...ids: string[]): Trouble =>
  (_, call) => ({
    refused: ({ Detail }) =>
      ids.some((id) => Detail.includes(`"${id}"`)) && call < 3 ? 'ThrottlingException' : undefined,
  })

describe('Events', () => {
  it('are put ten a call, in their order.', async () => {
    const { bus, failed, ids, pauses } = await put(23)
    expect(bus.sizes).toEqual([10, 10, 3])
    expect(ids).toEqual(Array.from({ length: 23 }, (_, id) => `e${id}`))
    expect([failed, pauses]).toEqual([[], []])
  })

  it('of none are no call.', async () => {
    expect((await put(0)).bus.calls).toBe(0)
  })

  it('are no more than 256 KB a call, each alone if need be.', () => {
    const sizes = [100_000, 100_000, 100_000, 300_000, 10, 10]
    const entries = sizes.map((bytes, id) => entry(id, bytes))
    const calls = [...callsOf(entries)]
    expect(calls).toEqual([[0, 1], [2], [3], [4, 5]])
    const half = Math.floor(BYTES_PER_CALL / 2)
    const own = 14 + 'pushpop'.length + 'Items Available'.length + entry(0).Detail.length
    expect([...callsOf([entry(0, half - own), entry(1, half - own)])]).toHaveLength(1)
    expect([...callsOf([entry(0, half - own + 1), entry(1, half - own)])]).toHaveLength(2)
  })

  it('that are refused are put again by themselves, after a pause that grows.', async () => {
    const { bus, failed, ids, pauses } = await put(10, refuse('e3', 'e7'))
    expect(bus.sizes).toEqual([10, 2, 2])
    expect(ids.toSorted()).toEqual(some(10).map((_, id) => `e${id}`))
    expect(pauses).toEqual([100, 400])
    expect(failed).toEqual([])
  })

  it('that are refused for good are named, told, and hold up nobody.', async () => {
    const { bus, failed, ids, givenUp } = await put(12, (entries) => ({
      refused: ({ Detail }) =>
        Detail.includes('"e3"') && entries.length > 0 ? 'InternalFailure' : undefined,
    }))
    expect(failed).toEqual([3])
    expect(bus.sizes).toEqual([10, 1, 1, 1, 2])
    expect(ids).toHaveLength(11)
    expect(givenUp).toEqual([[1, 'InternalFailure']])
  })

  it('are put again if the answer was lost, and then are there twice.', async () => {
    const lost = { throws: new Error('socket hang up'), taken: true }
    const { failed, ids } = await put(2, (_, call) => (call === 1 ? lost : undefined))
    expect(failed).toEqual([])
    expect(ids).toEqual(['e0', 'e1', 'e0', 'e1'])
  })

  it('are not all tried if there is no bus.', async () => {
    const down = { throws: new Error('no such bus') }
    const { bus, failed, givenUp } = await put(35, () => down)
    expect(bus.calls).toBe(4)
    expect(failed).toHaveLength(35)
    expect(givenUp).toEqual([[10, down.throws]])
  })

  it('that an answer does not speak of are not there.', async () => {
    const silent = { putEvents: async () => [{}] }
    const run = { ...aRun(), port: silent, onGivenUp: () => {} }
    expect([...(await putEvents(some(2), run))]).toEqual([])
    const none = { ...run, port: { putEvents: async () => [] } }
    expect([...(await putEvents(some(2), none))]).toEqual([0, 1])
  })

  it('wait for the next batch if the time is nearly over.', async () => {
    const times = [60_000, 20_000, 14_000]
    const { bus, failed, givenUp } = await put(
      30,
      () => undefined,
      () => times.shift() ?? 0,
    )
    expect(bus.calls).toBe(2)
    expect(failed).toEqual([20, 21, 22, 23, 24, 25, 26, 27, 28, 29])
    expect(givenUp).toEqual([])
  })
})
