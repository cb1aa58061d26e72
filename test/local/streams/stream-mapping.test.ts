import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../../local/functions/messages.ts'
import { batches, StreamMapping } from '../../../local/streams/stream-mapping.ts'
import type { Page, Position, StreamRecord } from '../../../local/streams/stream-reader.ts'
import type { StreamPlan } from '../../../local/template/plan-sources.ts'
import { aRecord } from './a-record.ts'

const plan: StreamPlan = {
  id: 'Mapping',
  functionArn: 'fn',
  tableName: 'table',
  streamArn: 'arn:stream',
  patterns: [{ dynamodb: { NewImage: { work: [{ exists: true }] } } }],
  batchSize: 2,
  windowMs: 0,
  bisects: false,
  reportsItemFailures: false,
}

const wanted = (n: number) => aRecord(n, { work: 'x' })

/** Runs a mapping over these pages until all are read and the function has been asked `calls` times. */
async function run(
  pages: readonly (readonly StreamRecord[])[],
  { change = {}, calls = 0, answers = [] as Outcome[] },
) {
  const events: StreamRecord[][] = []
  const positions: string[] = []
  const left = [...pages]
  const finished = Promise.withResolvers<void>()
  const finishIfDone = () => {
    if (left.length === 0 && events.length >= calls) finished.resolve()
  }
  let position: Position | undefined
  const mapping = new StreamMapping({
    plan: { ...plan, ...change },
    reader: {
      async read(): Promise<Page> {
        const records = left.shift() ?? []
        const last = records.at(-1)
        if (last) position = { shardId: 's', sequenceNumber: last.dynamodb.SequenceNumber }
        setImmediate(finishIfDone)
        return { records, ...(position && { position }) }
      },
    },
    checkpoint: { advance: (at) => positions.push(at.sequenceNumber), save() {} },
    async invoke(event) {
      events.push(JSON.parse(event).Records)
      setImmediate(finishIfDone)
      return answers[events.length - 1] ?? { kind: 'answered', payload: 'null' }
    },
    onGivenUp() {},
    onProblem() {},
  })
  mapping.start()
  await finished.promise
  await mapping.stop()
  const numbers = events.map((records) => records.map((it) => Number(it.dynamodb.SequenceNumber)))
  return { events, numbers, positions }
}

describe('a mapping', () => {
  test('delivers what its filters let through, in batches, and is then past all of it', async () => {
    const page = [aRecord(1), wanted(2), wanted(3), aRecord(4), wanted(5), aRecord(6)]
    const { numbers, positions } = await run([page], { calls: 2 })
    expect(numbers).toEqual([[2, 3], [5]])
    expect(positions).toEqual(['3', '5', '6'])
  })

  test('hands records over as Lambda does', async () => {
    const { events } = await run([[wanted(1)]], { calls: 1 })
    expect(events[0]?.[0]).toEqual({
      ...wanted(1),
      eventSourceARN: 'arn:stream',
      awsRegion: 'us-east-1',
    })
  })

  test('is past what nobody wants as well', async () => {
    const { numbers, positions } = await run([[aRecord(1), aRecord(2)]], {})
    expect(numbers).toEqual([])
    expect(positions).toEqual(['2'])
  })

  test('is past a write that changed nothing, and tells nobody of it', async () => {
    const image = { work: 'x', m: { M: { a: { N: '1' }, b: { N: '2' } } } }
    const other = { ...image, m: { M: { b: { N: '2' }, a: { N: '1' } } } }
    const changed = { ...image, n: { N: '1' } }
    const { numbers, positions } = await run(
      [[aRecord(1, other, image), aRecord(2, changed, image), aRecord(3, image, image)]],
      { calls: 1 },
    )
    expect(numbers).toEqual([[2]])
    expect(positions.at(-1)).toBe('3')
  })

  test('is past nothing while records wait for their window', async () => {
    const pages = [[wanted(1)], [aRecord(2)]]
    const { numbers, positions } = await run(pages, { change: { windowMs: 3_600_000 } })
    expect(numbers).toEqual([])
    expect(positions).toEqual([])
  })

  test('does not wait for the window when the batch is full', async () => {
    const change = { windowMs: 3_600_000 }
    const { numbers } = await run([[wanted(1)], [wanted(2)]], { change, calls: 1 })
    expect(numbers).toEqual([[1, 2]])
  })

  test('delivers again before anything later', async () => {
    const answers: Outcome[] = [{ kind: 'failed', payload: '{}' }]
    const { numbers, positions } = await run([[wanted(1)], [wanted(2)]], { answers, calls: 3 })
    expect(numbers).toEqual([[1], [1], [2]])
    expect(positions.at(-1)).toBe('2')
  })
})

test('batches are bounded by number and by weight', () => {
  const records = [1, 2, 3, 4, 5].map((n) => aRecord(n))
  const sizes = (sizeMax: number, bytesMax: number) =>
    [...batches(records, sizeMax, bytesMax)].map((batch) => batch.length)
  expect(sizes(2, 1e6)).toEqual([2, 2, 1])
  expect(sizes(10, 250)).toEqual([2, 2, 1])
  // One that is too large for any batch is a batch by itself.
  expect(sizes(10, 1)).toEqual([1, 1, 1, 1, 1])
  expect([...batches([], 2)]).toEqual([])
})
