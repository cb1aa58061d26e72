import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { Outcome } from '../../../local/functions/messages.ts'
import type { SqsRecord } from '../../../local/sqs/queue-mapping.ts'
import { failedMessages, messageFilter, QueueMapping } from '../../../local/sqs/queue-mapping.ts'
import type { SqsApi } from '../../../local/stores/store-api.ts'
import type { QueueMappingPlan } from '../../../local/template/plan-sources.ts'
import { until } from '../a-stack.ts'

const plan: QueueMappingPlan = {
  id: 'Mapping',
  functionArn: 'arn:function',
  queueUrl: 'http://localhost/123456789012/q.fifo',
  queueArn: 'arn:queue',
  isFifo: true,
  patterns: [],
  batchSize: 10,
  windowMs: 0,
  reportsItemFailures: true,
}

/** Hands out these batches, and writes down what becomes of them. */
function fakeSqs(batches: (readonly string[] | Error)[]) {
  const settled: string[] = []
  const sqs: SqsApi = async (action, input, signal) => {
    if (action === 'ReceiveMessage') {
      const batch = batches.shift()
      if (batch instanceof Error) throw batch
      if (!batch) await delay(20_000, undefined, { signal })
      return {
        Messages: (batch ?? []).map((body) => {
          const id = body.slice(0, 3)
          return { MessageId: id, ReceiptHandle: id, Body: body }
        }),
      }
    }
    for (const one of input.Entries as { Id: string; VisibilityTimeout?: number }[]) {
      settled.push(`${action} ${one.Id} ${one.VisibilityTimeout ?? ''}`.trim())
    }
    return {}
  }
  return { sqs, settled }
}

const mappings: QueueMapping[] = []
afterEach(() => Promise.all(mappings.splice(0).map((one) => one.stop())))

function start(
  sqs: SqsApi,
  invoke: (event: string) => Promise<Outcome>,
  { concurrencyMax = 2, problems = [] as string[], change = {} } = {},
): QueueMapping {
  const mapping = new QueueMapping({
    plan: { ...plan, ...change },
    sqs,
    concurrencyMax,
    invoke,
    onProblem: (sentence) => problems.push(sentence),
  })
  mappings.push(mapping)
  mapping.start()
  return mapping
}

const done: Outcome = { kind: 'answered', payload: 'null' }

test('No more batches are under way than may be.', async () => {
  const { sqs, settled } = fakeSqs([['1'], ['2'], ['3'], ['4'], ['5']])
  let running = 0
  let most = 0
  start(sqs, async () => {
    running += 1
    most = Math.max(most, running)
    await delay(20)
    running -= 1
    return done
  })
  await until(() => settled.length === 5)
  expect(most).toBe(2)
})

test('The messages of a function that threw stay in flight until their time is over.', async () => {
  const { sqs, settled } = fakeSqs([['1'], ['2']])
  start(sqs, async (event) => (event.includes('"1"') ? { kind: 'failed', payload: '{}' } : done))
  await until(() => settled.length === 1)
  expect(settled).toEqual(['DeleteMessageBatch 2'])
})

test('A batch that the function was not asked for is given back.', async () => {
  const { sqs, settled } = fakeSqs([['1', '2']])
  start(sqs, async () => ({ kind: 'throttled' }))
  await until(() => settled.length === 2)
  expect(settled).toEqual(['ChangeMessageVisibilityBatch 1 1', 'ChangeMessageVisibilityBatch 2 1'])
})

test('A batch whose function was killed comes again soon: nobody works on it any more.', async () => {
  const { sqs, settled } = fakeSqs([['1', '2']])
  start(sqs, async () => ({ kind: 'failed', payload: '{}', wasKilled: true }))
  await until(() => settled.length === 2)
  expect(settled).toEqual(['ChangeMessageVisibilityBatch 1 1', 'ChangeMessageVisibilityBatch 2 1'])
})

test('A stop waits for the batch, and gives back what ended with the stack.', async () => {
  const { sqs, settled } = fakeSqs([['1']])
  const begun: ((outcome: Outcome) => void)[] = []
  const mapping = start(sqs, () => new Promise((resolve) => begun.push(resolve)))
  await until(() => begun.length === 1)
  const stopped = mapping.stop()
  begun[0]?.({ kind: 'failed', payload: '{}' })
  await stopped
  expect(settled).toEqual(['ChangeMessageVisibilityBatch 1 0'])
})

test('Messages too large for one event come in several, and none in a FIFO queue passes a failure.', async () => {
  const large = ['1', '2', '3'].map((id) => id + 'x'.repeat(2_500_000))
  const { sqs, settled } = fakeSqs([large, ['end']])
  const events: string[][] = []
  start(
    sqs,
    async (event) => {
      const { Records } = JSON.parse(event) as { Records: { body: string }[] }
      events.push(Records.map(({ body }) => body.slice(0, 3)))
      return events.length === 1 ? { kind: 'failed', payload: '{}' } : done
    },
    { concurrencyMax: 1 },
  )
  await until(() => settled.length === 1)
  expect(events).toEqual([['1xx', '2xx'], ['end']])
  expect(settled).toEqual(['DeleteMessageBatch end'])
})

test('A queue that cannot be read is said once, and read again.', async () => {
  const problems: string[] = []
  const { sqs, settled } = fakeSqs([new Error('away'), new Error('away'), ['1']])
  start(sqs, async () => done, { problems })
  await until(() => settled.length === 1)
  expect(problems).toEqual(['Cannot read the queue of Mapping: Error: away'])
})

const record = (messageId: string, body = ''): SqsRecord => ({ messageId, body })
const records = ['1', '2', '3'].map((id) => record(id))
const answered = (answer: unknown): Outcome => ({
  kind: 'answered',
  payload: JSON.stringify(answer),
})
const naming = (...ids: unknown[]) => ({
  batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })),
})

test.each([
  ['Nothing is success.', answered(null), []],
  ['An object without failures is success.', answered({}), []],
  ['No failures are success.', answered(naming()), []],
  ['Named messages have failed, and no others.', answered(naming('2')), ['2']],
  [
    'A message that was not in the batch fails all of it.',
    answered(naming('2', '9')),
    ['1', '2', '3'],
  ],
  ['A failure without a name fails all of it.', answered(naming('')), ['1', '2', '3']],
  [
    'Failures that are no list fail all of it.',
    answered({ batchItemFailures: 1 }),
    ['1', '2', '3'],
  ],
  ['An answer that is no object fails all of it.', answered(5), ['1', '2', '3']],
  [
    'A function that throws fails all of it.',
    { kind: 'failed', payload: '{}' } as Outcome,
    ['1', '2', '3'],
  ],
])('%s', (_, outcome, failed) => {
  expect([...failedMessages(outcome, records, true)]).toEqual(failed)
})

test('A function that does not report single failures has handled all that it answers.', () => {
  expect([...failedMessages(answered(naming('2')), records, false)]).toEqual([])
})

test.each([
  ['Without a filter each message is delivered.', [], 'text', true],
  ['A pattern looks into a body of JSON.', [{ body: { a: [1] } }], '{"a":1}', true],
  ['A body of other JSON does not fit.', [{ body: { a: [1] } }], '{"a":2}', false],
  ['A body that is no JSON does not fit a pattern of fields.', [{ body: { a: [1] } }], 'a', false],
  ['A pattern of values compares text.', [{ body: [{ prefix: 'te' }] }], 'text', true],
  ['One pattern of several is enough.', [{ body: ['no'] }, { body: ['text'] }], 'text', true],
])('%s', (_, patterns, body, expected) => {
  expect(messageFilter(patterns)(record('1', body))).toBe(expected)
})
