import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startQueues, type TestQueues } from '../../testing/index.ts'
import { counted, kinds, type LimitsOnWire, RateStage } from './rate-stage.ts'

/** On the embedded DynamoDB: the requests are ones it takes, and cost what the bars say. */

type Units = { writes: number; reads: number }
type Port = { send(command: never): Promise<unknown> }

let embedded: TestQueues
let stage: RateStage
const units: Units = { writes: 0, reads: 0 }

beforeAll(async () => {
  embedded = await startQueues()
  const documents = counting(DynamoDBDocumentClient.from(embedded.dynamodb) as never)
  stage = new RateStage(embedded.tableName, documents)
})
afterAll(() => embedded.stop())

/** Asks each request what it cost; a refused write costs as much as one that went through. */
function counting(port: Port): Port {
  return {
    async send(command: never) {
      const { input } = command as { input: Record<string, unknown> }
      input.ReturnConsumedCapacity = 'TOTAL'
      const write = (command as object).constructor.name !== 'GetCommand'
      try {
        const answer = (await port.send(command)) as {
          ConsumedCapacity?: { CapacityUnits?: number }
        }
        units[write ? 'writes' : 'reads'] += answer.ConsumedCapacity?.CapacityUnits ?? 0
        return answer
      } catch (error) {
        if (write) units.writes += 1
        throw error
      }
    },
  }
}

async function costOf(limits: LimitsOnWire, decisions: () => Promise<number>) {
  const [writes, reads, sent] = [units.writes, units.reads, limits.wire.sent.length]
  const count = await decisions()
  return {
    requests: (limits.wire.sent.length - sent) / count,
    writes: (units.writes - writes) / count,
    reads: (units.reads - reads) / count,
  }
}

function expectCheap(cost: Awaited<ReturnType<typeof costOf>>, requests = 1.05, writes = 1.1) {
  expect(cost.requests).toBeLessThanOrEqual(requests)
  expect(cost.writes).toBeLessThanOrEqual(writes)
  expect(cost.reads).toBe(0)
}

describe('With one caller a key, a decision is within 1.05 requests, 1.1 WRU and 0 RRU:', () => {
  it('allowed, over ten windows.', async () => {
    const limits = stage.process()
    await limits.decide('warm')
    const cost = await costOf(limits, async () => {
      for (let second = 0; second < 10; second += 1) {
        expect(counted(await kinds(20, () => limits.decide('one-caller')))).toEqual({ allowed: 20 })
        stage.clock.pass(1_000)
      }
      return 200
    })
    expectCheap(cost)
  })

  it('smooth, at its pace and above it.', async () => {
    const limits = stage.process()
    await limits.configure('smooth', { maxRequests: 10, algorithm: 'smooth', burst: 2 })
    const cost = await costOf(limits, async () => {
      for (let i = 0; i < 200; i += 1) {
        await limits.decide('smooth')
        stage.clock.pass(70)
      }
      return 200
    })
    expectCheap(cost)
  })

  it('denied, and waiting behind hundreds of thousands.', async () => {
    const limits = stage.process()
    const line = { maxRequests: 1_000, maxRequestsInQueue: 1_000_000 }
    await limits.configure('line', line)
    const wait = (cost: number) => limits.decide('line', { canWait: true, cost })
    const cost = await costOf(limits, async () => {
      for (let i = 0; i < 500; i += 1) await wait(1_000)
      for (let i = 0; i < 50; i += 1) expect((await wait(1)).kind).toBe('promised')
      for (let i = 0; i < 50; i += 1) expect((await limits.decide('line')).kind).toBe('denied')
      return 600
    })
    expectCheap(cost, 1, 1)
  })
})

describe('Many processes at once', () => {
  it('give out each slot once, so many a window, and in order to each.', async () => {
    const processes = Array.from({ length: 8 }, () => stage.process())
    await processes[0]?.configure('crowd', { maxRequests: 10, maxRequestsInQueue: 1_000 })
    const turns = await Promise.all(
      processes.map(async (limits) => {
        const mine: number[] = []
        for (let i = 0; i < 25; i += 1) {
          const answer = await limits.decide('crowd', { canWait: true })
          if (answer.kind === 'allowed') mine.push(answer.window.startMs)
          if (answer.kind === 'promised') mine.push(answer.turn.notBeforeMs)
        }
        expect(mine).toEqual([...mine].sort((a, b) => a - b))
        return mine
      }),
    )
    const perWindow = counted(turns.flat().map(String))
    expect(turns.flat().length).toBe(200)
    expect(Object.values(perWindow)).toEqual(Array(20).fill(10))
  })

  it('far above a limit take 1.2 × of it in writes.', async () => {
    const processes = Array.from({ length: 16 }, () => stage.process())
    // Each has met the key before.
    for (const limits of processes) await limits.decide('hot')
    stage.clock.pass(1_000)
    const before = units.writes
    const windows = 6
    for (let window = 0; window < windows; window += 1) {
      const told = await Promise.all(
        processes.map((limits) => kinds(30, () => limits.decide('hot'))),
      )
      expect(counted(told.flat())).toEqual({ allowed: 100, denied: 380 })
      stage.clock.pass(1_000)
    }
    expect((units.writes - before) / (windows * 100)).toBeLessThanOrEqual(1.2)
  })
})

it('A place is given up, settings and patterns are changed and taken away, as on the simulated store.', async () => {
  const limits = stage.process()
  await limits.configurePatterns([{ prefix: 'p-', settings: { maxRequests: 1 } }])
  expect(counted(await kinds(3, () => limits.decide('p-1')))).toEqual({ allowed: 1, denied: 2 })
  const answer = await limits.admit('p-1', { canWait: true, maxWaitMs: 0 })
  if (answer.kind !== 'promised') throw new Error('expected a ticket')
  expect(await limits.giveUp('p-1', answer.ticket)).toEqual({ kind: 'given-up' })
  expect(await limits.giveUp('p-1', answer.ticket)).toEqual({ kind: 'kept' })
  await limits.configure('p-1', { maxRequests: 3, shards: 2 })
  expect((await limits.state('p-1')).shards.map(({ limit }) => limit)).toEqual([2, 1])
  expect((await limits.unconfigure('p-1')).from).toBe('pattern')
  await limits.configurePatterns([])
  expect((await limits.configuration('p-1')).from).toBe('default')
})
