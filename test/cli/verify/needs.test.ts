// The operator may give the run's queues settings by their prefix. What these rule out is no broken promise.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Needs, ruledOutBy } from '../../../cli/verify/stage.ts'
import { type Configuration, createClient } from '../../../client/index.ts'
import { type LocalStack, startLocalStack } from '../../../testing/index.ts'
import { run } from '../a-run.ts'
import { startBrokenService } from './broken-service.ts'
import { swapsTwo } from './faults.ts'

const limitOf = (maxRequests: number, windowMillis: number) =>
  ({ maxRequests, windowMillis, algorithm: 'window', burst: 1 }) as const

describe('A step', () => {
  test.each<[string, Needs, Partial<Configuration>, RegExp | undefined]>([
    [
      'that pushes more than fits',
      { items: 60 },
      { capacity: 59 },
      /capacity of 59.* pushes 60 items/,
    ],
    ['that pushes as much as fits', { items: 60 }, { capacity: 60 }, undefined],
    ['that pushes a few where fewer fit', {}, { capacity: 3 }, /capacity of 3/],
    [
      'whose items come back where none does',
      { returns: true },
      { maxDeliveries: 1 },
      /max_deliveries/,
    ],
    ['whose items come back', { returns: true }, { maxDeliveries: 2 }, undefined],
    ['whose items do not come back', {}, { maxDeliveries: 1 }, undefined],
    ['whose items may expire', {}, { itemTtlSeconds: 60 }, /item_ttl_seconds of 60/],
    ['whose items expire later', {}, { itemTtlSeconds: 300 }, undefined],
    [
      'that needs S3',
      { offloads: 500 },
      { segmentSize: 200 },
      /segment_size 200 and buffer_segments 1/,
    ],
    [
      'that needs S3, where much is kept',
      { offloads: 500 },
      { bufferSegments: 4 },
      /buffer_segments 4/,
    ],
    ['that needs S3, where that is enough', { offloads: 500 }, { segmentSize: 150 }, undefined],
    ['that would wait', {}, { popLimit: limitOf(1, 2_000) }, /a pop_limit of less than one call/],
    ['that would wait for pushes', {}, { pushLimit: limitOf(3, 60_000) }, /a push_limit of less/],
    ['that is slow', {}, { popLimit: limitOf(5, 5_000) }, undefined],
  ])('%s', (_, needs, settings, why) => {
    const found = ruledOutBy(
      {
        segmentSize: 100,
        bufferSegments: 1,
        source: { from: 'pattern', prefix: '' },
        ...settings,
      },
      needs,
    )
    if (why === undefined) expect(found).toBeUndefined()
    else expect(found).toMatch(why)
  })
})

describe('A service whose operator gives all queues few deliveries and little room', () => {
  let stack: LocalStack
  beforeAll(async () => {
    stack = await startLocalStack({ port: 0, scheduleSpeed: 60 })
    const client = createClient({ url: stack.url })
    const settings = { maxDeliveries: 1, capacity: 50 }
    await client.configureQueuePatterns([{ prefix: 'pushpop-', settings }])
  })
  afterAll(() => stack?.stop())

  const checks = 'order,locks,competing,acknowledge,dead-letters,bounds,configuration,purge,expiry'
  type Step = { readonly verdict: string; readonly reason?: string }
  async function verify(url: string, only: string) {
    const { code, stdout } = await run(['verify', '--endpoint', url, '--json', '--only', only])
    const body = JSON.parse(stdout) as { checks: { steps: Step[] }[]; kept_queues: string[] }
    return { code, body, steps: body.checks.flatMap(({ steps }) => steps) }
  }

  test('breaks no promise, and what could not be tried is said', async () => {
    const { code, body, steps } = await verify(stack.url, checks)
    expect(steps.filter(({ verdict }) => verdict === 'broken' || verdict === 'undecided')).toEqual(
      [],
    )
    const reasons = steps.flatMap(({ reason }) => reason ?? [])
    expect(
      reasons.filter((reason) => /has max_deliveries of 1: no item/.test(reason)),
    ).toHaveLength(9)
    expect(
      reasons.filter((reason) => /has a capacity of 50: this pushes/.test(reason)),
    ).toHaveLength(3)
    expect(reasons).toHaveLength(12)
    expect(code).toBe(0)
    // They have settings of their own, and these are the defaults of any queue.
    expect(body.kept_queues).toHaveLength(2)
    for (const id of body.kept_queues) {
      const { maxDeliveries, source } = await createClient({ url: stack.url })
        .queue(id)
        .configuration()
      expect({ maxDeliveries, source }).toEqual({ source: { from: 'queue' } })
    }
  })

  test('is still caught if it breaks another one', async () => {
    const service = await startBrokenService(stack.url, swapsTwo())
    try {
      expect((await verify(service.url, 'looking,locks')).code).toBe(5)
    } finally {
      await service.stop()
    }
  })
})
