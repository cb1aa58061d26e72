// What happens by itself, end to end: housekeeping, called by the table's stream and by nothing here.

import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type LocalStack, startLocalStack } from '../../testing/index.ts'
import { type Call, json } from './call.ts'
import { httpCall } from './http-call.ts'

/** The stack's schedules, sixty times as fast: a minute is a second. */
const SCHEDULE_SPEED = 60
const ITEMS = 400
const SEGMENT_SIZE = 20

let stack: LocalStack
let call: Call
const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }
beforeAll(async () => {
  stack = await startLocalStack({ port: 0, scheduleSpeed: SCHEDULE_SPEED })
  call = httpCall(stack.url)
})
afterAll(() => stack?.stop())

it('Hundreds of items are sealed, offloaded to S3, recalled, popped in order and deleted.', async () => {
  const s3 = new S3Client({ endpoint: stack.s3Endpoint, region: 'us-east-1', credentials })
  const [bucket] = stack.plan.buckets
  const objects = async (): Promise<number> => {
    const { Contents = [] } = await s3.send(
      new ListObjectsV2Command({ Bucket: bucket, MaxKeys: 100 }),
    )
    return Contents.length
  }
  await call('PUT', '/queue/deep/config', { body: `{"segment_size": ${SEGMENT_SIZE}}` })
  for (let n = 0; n < ITEMS; n += 1) {
    const { status } = await call('POST', '/queue/deep/push', { body: `{"item": "number ${n}"}` })
    expect(status).toBe(200)
  }
  const offloaded = async () => (await lane()).tail_offloaded_segment
  // All but the first, what the buffer holds, the tail, and one that waits for a second.
  await expect.poll(offloaded, patient).toBeGreaterThanOrEqual(ITEMS / SEGMENT_SIZE - 3)
  expect(await objects()).toBeGreaterThan(10)

  const popped: string[] = []
  while (popped.length < ITEMS) {
    const answer = json(await call('POST', '/queue/deep/pop?count=25'))
    expect(answer.count).toBe(25)
    popped.push(...answer.items)
    const { head_segment, head_offloaded_segment } = await lane()
    // Recalled before it is needed, sooner or later: a pop reads S3 until then.
    if (head_offloaded_segment === null) continue
    await expect
      .poll(async () => (await lane()).head_offloaded_segment ?? ITEMS, patient)
      .toBeGreaterThan(head_segment)
  }
  expect(popped).toEqual(Array.from({ length: ITEMS }, (_, n) => `number ${n}`))
  await expect.poll(objects, patient).toBe(0)
  s3.destroy()

  async function lane() {
    const { priorities } = json(await call('GET', '/queue/deep?consistent=true'))
    return priorities[0] ?? { head_segment: 0, head_offloaded_segment: null }
  }
})

const patient = { timeout: 20_000, interval: 50 }
