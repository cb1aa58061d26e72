// The same cases as contract.test.ts, and some of hostile.test.ts, over real HTTP against what `npm start`
// runs: the synthesised functions in processes of their own, which share nothing but the stores.

import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LocalStack, startLocalStack } from '../../../testing/index.ts'
import type { CaseTools } from './call.ts'
import { inspect, lock, pop, pushItems, runCase } from './cases/actions.ts'
import { contractCases } from './contract-cases.ts'
import { documented } from './documented.ts'
import { surprisesOf } from './hostile/hostile-cases.ts'
import { httpCall } from './http-call.ts'

let stack: LocalStack
let tools: CaseTools
beforeAll(async () => {
  stack = await startLocalStack({ port: 0 })
  let made = 0
  tools = {
    call: documented(httpCall(stack.url)),
    queue() {
      made += 1
      return `queue-${made}`
    },
    pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    sweep: () => stack.invoke('ReturnExpiredLocks', {}),
    housekeep: (queue) => stack.invoke('Housekeep', { Records: [changeOf(queue)] }),
  }
})
afterAll(() => stack?.stop())

/** As the table's stream would tell of it. */
const changeOf = (queue: string) => ({
  dynamodb: { Keys: { pk: { S: `q#${queue}` }, sk: { S: 'queue' } }, SequenceNumber: '1' },
})

describe.each(Object.entries(contractCases))('%s', (_, cases) => {
  it.each(Object.entries(cases))('%s.', (_, run) => runCase(run, tools))
})

describe('Hostile requests', () => {
  it('get the error they deserve, in its shape, and change nothing.', async () => {
    const { call } = tools
    const queue = 'target'
    await pushItems(call, queue, ['canary-item', 'b', 'c'])
    await lock(call, queue, 'ttl_seconds=300')
    const before = await inspect(call, queue)
    // The handlers answer all of them in hostile.test.ts; these are enough to see that HTTP changes nothing.
    expect(await surprisesOf(call, queue, 10)).toEqual([])
    expect(await inspect(call, queue)).toEqual(before)
  })
})

it('Long queues are sealed, offloaded to S3, recalled and deleted there by what the stream calls.', async () => {
  const items = Array.from({ length: 400 }, (_, n) => `number ${n}`)
  const { call } = tools
  const lane = async () => (await inspect(call, 'deep')).priorities[0]
  const objects = () => objectsIn(stack.plan.buckets[0])
  await call('PUT', '/queue/deep/config', { body: '{"segment_size": 20}' })
  for (let n = 0; n < items.length; n += 5) await pushItems(call, 'deep', items.slice(n, n + 5))
  // All but the first, what the buffer holds, the tail, and one that waits for a second.
  const offloaded = async () => (await lane()).tail_offloaded_segment
  await expect.poll(offloaded, patient).toBeGreaterThanOrEqual(17)
  expect(await objects()).toBeGreaterThan(10)
  const popped: string[] = []
  while (popped.length < items.length) {
    popped.push(...(await pop(call, 'deep', 'count=25')).items)
    // Recalled before it is needed, sooner or later: a pop reads S3 until then.
    const { head_segment = 0, head_offloaded_segment: head = null } = (await lane()) ?? {}
    if (head === null) continue
    const headLater = async () => (await lane())?.head_offloaded_segment ?? items.length
    await expect.poll(headLater, patient).toBeGreaterThan(head_segment)
  }
  expect(popped).toEqual(items)
  await expect.poll(objects, patient).toBe(0)
})

const patient = { timeout: 20_000, interval: 50 }

/** Of the queue that is long: others have objects of their own. */
async function objectsIn(bucket: string | undefined): Promise<number> {
  const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }
  const s3 = new S3Client({ endpoint: stack.s3Endpoint, region: 'us-east-1', credentials })
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucket }))
  s3.destroy()
  return Contents.filter(({ Key = '' }) => Key.includes('deep')).length
}
