import type { DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { describe, expect, it } from 'vitest'
import type { HousekeepReport } from '../../../engine/queues.ts'
import { housekeepBatch } from '../../../lambdas/background/housekeep.ts'
import { createLog, Tally } from '../../../lambdas/runtime/log.ts'
import { QueueError } from '../../../shared/errors.ts'

const done: HousekeepReport = {
  sealed: 1,
  offloaded: 2,
  recalled: 3,
  trimmed: 4,
  deadLettered: 5,
  finished: true,
}

const record = (pk: string, SequenceNumber: string): DynamoDBRecord => ({
  eventName: 'MODIFY',
  dynamodb: { Keys: { pk: { S: pk }, sk: { S: 'queue' } }, SequenceNumber },
})

async function run(
  records: readonly DynamoDBRecord[],
  housekeep: (queue: string) => Promise<HousekeepReport> = async () => done,
  remainingMs: () => number = () => 300_000,
) {
  const tally = new Tally()
  const lines: string[] = []
  const log = createLog({ level: 'info', service: 'x', write: (line) => lines.push(line) })
  const visited: string[] = []
  let atOnce = 0
  let atOnceMax = 0
  const queues = {
    async housekeep(queue: string) {
      visited.push(queue)
      atOnce += 1
      atOnceMax = Math.max(atOnceMax, atOnce)
      await new Promise((resolve) => setImmediate(resolve))
      atOnce -= 1
      return housekeep(queue)
    },
  }
  const event = { Records: records } as DynamoDBStreamEvent
  const report = await housekeepBatch(queues, event, { tally, log, remainingMs })
  return { ...report, visited, tally, lines, atOnceMax }
}

const failing = (...broken: string[]) => {
  return async (queue: string) => {
    if (broken.includes(queue)) throw new Error('unreadable')
    return done
  }
}

describe('A batch of the stream', () => {
  it('has each queue looked after once, and rows that are no queue left alone.', async () => {
    const { visited, answer, fields } = await run([
      record('q#a', '1'),
      record('q#b', '2'),
      record('q#a', '3'),
      record('s#a#e#0#1', '4'),
      record('b#a#x', '5'),
      record('i#a#x', '6'),
      record('q#', '7'),
      record('q#not an id', '8'),
    ])
    expect(visited).toEqual(['a', 'b'])
    expect(answer).toEqual({ batchItemFailures: [] })
    expect(fields).toEqual({
      records: 8,
      queues: 2,
      sealed: 2,
      offloaded: 4,
      recalled: 6,
      trimmed: 8,
      dead_lettered: 10,
      unfinished: 0,
      failed: 0,
      passed: 0,
    })
  })

  it('passes a record of a newer format, which no repetition helps, and tells of it.', async () => {
    const newer = async (queue: string) => {
      if (queue === 'b') throw new QueueError('FORMAT_UNKNOWN', 'newer')
      return done
    }
    const records = ['a', 'b', 'c'].map((id, i) => record(`q#${id}`, `${10 + i}`))
    const { answer, fields, failed, tally, lines } = await run(records, newer)
    expect(answer.batchItemFailures).toEqual([])
    expect(fields).toMatchObject({ queues: 3, failed: 0, passed: 1 })
    expect(failed).toBe(true)
    expect(tally.metrics.get('FormatsUnknown')).toBe(1)
    expect(lines).toHaveLength(1)
  })

  it('names the first record of each queue that failed, and no queue fails another.', async () => {
    const records = ['a', 'b', 'a', 'c', 'b', 'c'].map((id, i) => record(`q#${id}`, `${10 + i}`))
    const { visited, answer, tally, lines } = await run(records, failing('b', 'c'))
    expect(visited).toEqual(['a', 'b', 'c'])
    expect(answer.batchItemFailures).toEqual([{ itemIdentifier: '11' }, { itemIdentifier: '13' }])
    expect(tally.metrics.get('HousekeepingFailures')).toBe(2)
    expect(tally.metrics.get('SegmentsOffloaded')).toBe(2)
    expect(lines).toHaveLength(2)
  })

  it('does not repeat a queue that left a timer, and counts it.', async () => {
    const unfinished = async () => ({ ...done, finished: false })
    const { answer, tally, failed } = await run([record('q#a', '1')], unfinished)
    expect(answer.batchItemFailures).toEqual([])
    expect(tally.metrics.get('HousekeepingFailures')).toBe(1)
    expect(failed).toBe(true)
  })

  it('leaves to the next batch what there is no time for.', async () => {
    let left = 60_000
    const slow = async () => {
      left -= 20_000
      return done
    }
    const records = [...'abcdefgh'].map((id, i) => record(`q#${id}`, `${i}`))
    const { visited, answer } = await run(records, slow, () => left)
    expect(visited.length).toBeLessThan(8)
    expect(answer.batchItemFailures.length).toBe(8 - visited.length)
    expect(answer.batchItemFailures.at(-1)).toEqual({ itemIdentifier: '7' })
  })

  it('has a few queues looked after at a time.', async () => {
    const records = Array.from({ length: 30 }, (_, i) => record(`q#q${i}`, `${i}`))
    const { visited, atOnceMax } = await run(records)
    expect(visited).toHaveLength(30)
    expect(atOnceMax).toBe(4)
  })

  it.each([
    ['nothing', undefined],
    ['an empty list', []],
    ['a record of nothing', [{}]],
    ['a record without keys', [{ dynamodb: {} }]],
    ['keys of other types', [{ dynamodb: { Keys: { pk: { N: '5' } } } }]],
  ])('of %s is done at once.', async (_, records) => {
    const { answer } = await run(records as readonly DynamoDBRecord[])
    expect(answer).toEqual({ batchItemFailures: [] })
  })
})
