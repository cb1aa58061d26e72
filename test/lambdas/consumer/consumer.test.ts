// The function as Lambda calls it: its environment, its event, its log line.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Queues } from '../../../engine/queues.ts'
import { consumer } from '../../../lambdas/consumer/index.ts'
import { callNextOn } from '../../../lambdas/consumer/run-queue.ts'
import type { EventEntry, EventsPort } from '../../../lambdas/runtime/put-events.ts'
import { startQueues, type TestQueues } from '../../../testing/index.ts'
import { keptEnvironment } from '../../support/environment.ts'

let store: TestQueues
let queues: Queues
const lines: string[] = []
const putBack = keptEnvironment()

beforeAll(async () => {
  store = await startQueues()
  queues = store.queues
})
afterAll(() => store.stop())

beforeEach(() => {
  lines.length = 0
  Object.assign(process.env, { ...store.environment, PUSHPOP_SERVICE: 'Shop' })
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line)) > 0)
})
afterEach(() => {
  vi.restoreAllMocks()
  putBack()
})

const logged = () =>
  lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as object)
const eventFor = (queue: string) => ({ 'detail-type': 'Items Available', detail: { queue } })

describe('A consumer', () => {
  it('works the queue of the event, and says in one line what it did.', async () => {
    const items = [1, 2, 3].map((n) => ({ text: String(n) }))
    await queues.push('orders', { items })
    const values: number[] = []
    const handler = consumer<number>((batch, { deadLetter }) => {
      for (const item of batch) {
        if (item.value === 2) deadLetter(item, 'even')
        else values.push(item.value)
      }
    })
    const report = await handler(eventFor('orders'), { awsRequestId: 'r-1' })
    expect(report).toEqual({
      queue: 'orders',
      ended: 'empty',
      batches: 3,
      acknowledged: 2,
      released: 0,
      deadLettered: 1,
    })
    expect(values).toEqual([1, 3])
    expect(logged()).toEqual([
      expect.objectContaining({
        level: 'info',
        message: 'run',
        request_id: 'r-1',
        queue: 'orders',
        batches: 3,
        acknowledged: 2,
        dead_lettered: 1,
        ended: 'empty',
        Service: 'Shop',
        ItemsPopped: 3,
        OldestItemAge: expect.any(Number),
        ItemsAcknowledged: 2,
        ItemsDeadLettered: 1,
      }),
    ])
  })

  it('needs no table to be made, so that a test can import its handler.', () => {
    delete process.env.PUSHPOP_TABLE
    expect(consumer(() => {})).toBeTypeOf('function')
  })

  it('without a table fails with the name of what is missing, and its line says so.', async () => {
    delete process.env.PUSHPOP_TABLE
    await expect(consumer(() => {})(eventFor('orders'))).rejects.toThrow('PUSHPOP_TABLE')
    expect(logged()).toEqual([expect.objectContaining({ level: 'error', message: 'run' })])
  })

  it('refuses at its start to be without a handler, which would take items only to fail them.', () => {
    // biome-ignore lint/suspicious/noExplicitAny: what no compiler has checked.
    const handler: any = undefined
    const refusal = new TypeError('The handler must be a function, and is undefined')
    expect(() => consumer(handler)).toThrow(refusal)
  })

  it('refuses what it cannot be when it is made, not at its first event.', () => {
    expect(() => consumer(() => {}, { batchSize: 0 })).toThrow('batchSize')
    process.env.PUSHPOP_CONSUMER_LOCKS = 'many'
    expect(() => consumer(() => {})).toThrow('PUSHPOP_CONSUMER_LOCKS must be a positive integer')
  })

  it('leaves dead-letter queues alone that a prefix happens to name.', async () => {
    const handler = consumer(() => {
      throw new Error('It was called')
    })
    await queues.push('tenant-1-deadletter', { items: [{ text: '1' }] })
    process.env.PUSHPOP_CONSUMER_DEAD_LETTERS = 'no'
    expect(await handler(eventFor('tenant-1-deadletter'))).toMatchObject({ ended: 'ignored' })
    expect(lines).toEqual([])
  })
})

describe('The next run', () => {
  const environment = { PUSHPOP_CONSUMER_NAME: 'Shop-Ship', PUSHPOP_CONSUMER_BUS: 'PushPop' }
  const clock = { nowMs: () => 1_000, sleep: async () => {} }
  const call = (...answers: (string | Error | undefined)[]) => {
    const put: EventEntry[] = []
    const port: EventsPort = {
      async putEvents(entries) {
        put.push(...entries)
        const answer = answers[put.length - 1]
        if (answer instanceof Error) throw answer
        return [answer === undefined ? {} : { ErrorCode: answer }]
      },
    }
    return { put, called: callNextOn(environment, clock, async () => port)('orders') }
  }

  it('is called by an event that names the queue and the consumer.', async () => {
    const { put, called } = call()
    await called
    expect(put).toEqual([
      {
        EventBusName: 'PushPop',
        Source: 'pushpop.consumer',
        DetailType: 'Run Continued',
        Time: new Date(1_000),
        Detail: '{"queue":"orders","consumer":"Shop-Ship"}',
      },
    ])
  })

  it.each([['ThrottlingException'], [new Error('reset')]])(
    'is called again after %s.',
    async (problem) => {
      const { put, called } = call(problem)
      await called
      expect(put).toHaveLength(2)
    },
  )

  it('that cannot be called fails the run, with the reason.', async () => {
    const { called } = call('InternalFailure', 'InternalFailure')
    await expect(called).rejects.toMatchObject({
      message: 'Cannot put Run Continued on the bus PushPop',
      cause: 'InternalFailure',
    })
  })
})
