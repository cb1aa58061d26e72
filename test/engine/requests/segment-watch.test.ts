import { expect, it } from 'vitest'
import { createQueues } from '../../../engine/queues.ts'
import type { SegmentMoved } from '../../../engine/requests/segment-rows.ts'
import { onSimulated, openSimulated, type Stage } from '../stage.ts'
import { bulky, expectCode, named, popItems, push, pushOneByOne } from '../traffic.ts'

const QUEUE = 'orders'

/** An engine that tells what it moves, on an S3 that takes a while, or fails. */
function watched(stage: Stage, s3: (name: string) => Promise<unknown> | undefined) {
  const moved: SegmentMoved[] = []
  const send = async (command: object): Promise<unknown> => {
    await s3(command.constructor.name)
    return stage.store.s3.send(command as never)
  }
  const queues = createQueues({
    tableName: stage.store.tableName,
    bucketName: stage.store.bucketName,
    dynamodb: stage.store.dynamodb as never,
    s3: { send: send as never },
    clock: stage.clock,
    onBackgroundError: () => {},
    onSegmentMoved: (one) => moved.push(one),
  })
  return { queues, moved }
}

it('A read from S3 tells how long it took, and whether it failed.', async () => {
  const stage = openSimulated()
  const items = Array.from({ length: 20 }, (_, n) => ({ text: bulky(`a${n}:`, 4_000) }))
  await push(stage.engine(), QUEUE, items)
  const slow = watched(stage, async () => stage.clock.pass(70))
  await popItems(slow.queues, QUEUE)
  expect(slow.moved).toEqual([{ queue: QUEUE, kind: 'load', ms: 70, failed: false }])
  const broken = watched(stage, () => {
    throw Object.assign(new Error('down'), { $metadata: { httpStatusCode: 503 } })
  })
  await expectCode(broken.queues.pop(QUEUE), 'SEGMENT_UNAVAILABLE')
  expect(broken.moved).toEqual([
    { queue: QUEUE, kind: 'load', ms: expect.any(Number), failed: true },
  ])
})

it('A segment that is there but that S3 does not give counts as a failed load, without a time.', async () => {
  const stage = openSimulated()
  const items = Array.from({ length: 20 }, (_, n) => ({ text: bulky(`a${n}:`, 4_000) }))
  await push(stage.engine(), QUEUE, items)
  let loads = 0
  const denied = watched(stage, (name) => {
    if (name === 'GetObjectCommand') loads += 1
    throw Object.assign(new Error('no'), {
      name: 'AccessDenied',
      $metadata: { httpStatusCode: 403 },
    })
  })
  await expectCode(denied.queues.pop(QUEUE), 'SEGMENT_UNAVAILABLE')
  expect(loads).toBeGreaterThan(0)
  const failed = { queue: QUEUE, kind: 'load', ms: 0, failed: true }
  expect(denied.moved).toEqual(Array.from({ length: loads }, () => failed))
})

it('A batch that is gone because others have popped all of it is not a failed load.', async () => {
  const stage = openSimulated()
  let loads = 0
  const late = watched(stage, async (name) => {
    if (name === 'GetObjectCommand') loads += 1
  })
  const items = Array.from({ length: 20 }, (_, n) => ({ text: bulky(`a${n}:`, 4_000) }))
  await push(late.queues, QUEUE, items)
  const others = stage.engine()
  await popItems(others, QUEUE, { count: 20 })
  await others.housekeep(QUEUE)
  await push(others, QUEUE, [{ text: '"last"' }])
  expect((await popItems(late.queues, QUEUE)).items).toHaveLength(1)
  expect(loads).toBeGreaterThan(0)
  expect(late.moved).toEqual([])
})

it('An offload that fails is reported as a failed offload.', async () => {
  const { stage, queues } = onSimulated()
  await queues.configure(QUEUE, { segmentSize: 5 })
  await pushOneByOne(queues, QUEUE, named('a', 100))
  const broken = watched(stage, () => {
    throw Object.assign(new Error('down'), { $metadata: { httpStatusCode: 503 } })
  })
  await broken.queues.housekeep(QUEUE)
  expect(broken.moved.length).toBeGreaterThan(0)
  for (const one of broken.moved) expect(one).toMatchObject({ kind: 'offload', failed: true })
})
