import type { DynamoDBStreamEvent } from 'aws-lambda'
import { expect, it } from 'vitest'
import { announceBatch, announceHandler } from '../../../../lambdas/background/announce.ts'
import { createLog } from '../../../../lambdas/runtime/log.ts'
import { aLane, aRecord, nowMs, tailOf } from '../../../engine/core/a-record.ts'
import { storedOf } from '../../../engine/requests/an-update.ts'
import { ABus, aRun } from './a-bus.ts'
import { streamRecord } from './stream-record.ts'

const full = (queue: string) => ({
  ...storedOf({ ...aRecord({ 0: aLane({ tail: tailOf(3) }) }), queue }),
  le: nowMs,
})
// Whatever the newer form is, and whichever of the two images has it.
const newer = { ...full('b'), fm: 2, L: [] }
const event = {
  Records: [
    streamRecord(1, undefined, full('a'), nowMs),
    streamRecord(2, undefined, newer, nowMs),
    streamRecord(3, full('b'), newer, nowMs),
    streamRecord(4, undefined, full('c'), nowMs),
  ],
} as DynamoDBStreamEvent

it('Announcing goes on behind a record of a newer format, which no repetition helps.', async () => {
  const [bus, run] = [new ABus(), aRun()]
  const { answer, failed, passed } = await announceBatch(bus, 'PushPop', event, run)
  expect(bus.kinds).toEqual(['Items Available a', 'Items Available c'])
  expect({ answer, failed, passed }).toEqual({
    answer: { batchItemFailures: [] },
    failed: 0,
    passed: 2,
  })
})

it('The function tells of it by its line and a metric.', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', service: 'x', write: (line) => lines.push(line) })
  const answer = await announceHandler(new ABus(), 'PushPop', log)(event)
  expect(answer).toEqual({ batchItemFailures: [] })
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
    level: 'warn',
    message: 'run',
    passed: 2,
    FormatsUnknown: 2,
  })
  expect(lines).toHaveLength(3)
})
