// The server: what it keeps through an end, whom it refuses, and who waits.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { LocalServer } from '../../../local/loopback.ts'
import { startSqs } from '../../../local/sqs/start-sqs.ts'
import type { HostReport } from '../../../local/stores/host.ts'
import { type SqsApi, sqsApi } from '../../../local/stores/store-api.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../a-stack.ts'

const QueueUrl = 'http://localhost/123456789012/q.fifo'
const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

async function start(file = join(temporaryFolder('sqs'), 'sqs.sqlite')): Promise<LocalServer> {
  const sqs = await startSqs({ file, onBroken: () => {} })
  stops.push(() => sqs.stop())
  return sqs
}

const makeQueue = (sqs: SqsApi) =>
  sqs('CreateQueue', {
    QueueName: 'q.fifo',
    Attributes: { FifoQueue: 'true', ContentBasedDeduplication: 'true', VisibilityTimeout: '600' },
  })

const send = (sqs: SqsApi, group: string, body: string) =>
  sqs('SendMessage', { QueueUrl, MessageGroupId: group, MessageBody: body })

async function receive(sqs: SqsApi, more: object = {}, signal?: AbortSignal): Promise<string[]> {
  const input = { QueueUrl, MaxNumberOfMessages: 10, ...more }
  const { Messages = [] } = await sqs('ReceiveMessage', input, signal)
  return (Messages as { Body: string }[]).map(({ Body }) => Body)
}

/** The process of the embedded stores, with nothing but queues. */
async function startHostOf(directory: string): Promise<{ child: ChildProcess; sqs: SqsApi }> {
  const file = join(import.meta.dirname, '../../../local/stores/host.ts')
  const request = JSON.stringify({ s3: false, sqs: true, directory })
  const child = fork(file, [request], { execArgv: [], stdio: 'inherit' })
  stops.push(() => child.kill('SIGKILL'))
  for (;;) {
    const [report] = (await once(child, 'message')) as [HostReport]
    if (report.kind === 'ready') return { child, sqs: sqsApi(report.sqsEndpoint ?? '') }
  }
}

test('A kill loses no message, no deduplication and no delivery; what functions had is free at once.', async () => {
  const directory = temporaryFolder('killed')
  const first = await startHostOf(directory)
  await makeQueue(first.sqs)
  for (const body of ['a1', 'a2', 'a3']) await send(first.sqs, 'a', body)
  await send(first.sqs, 'b', 'b1')
  await send(first.sqs, 'c', 'c1')
  expect(await receive(first.sqs, { MaxNumberOfMessages: 1 })).toEqual(['a1'])
  expect(await receive(first.sqs, { MaxNumberOfMessages: 1, IsForFunction: true })).toEqual(['b1'])
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')

  const second = await startHostOf(directory)
  await send(second.sqs, 'c', 'c1')
  expect(await receive(second.sqs)).toEqual(['b1', 'c1'])
  expect(await receive(second.sqs)).toEqual([])
})

test('A receive whose caller has gone takes nothing.', async () => {
  const { endpoint } = await start()
  const sqs = sqsApi(endpoint)
  await makeQueue(sqs)
  const gone = new AbortController()
  const given = receive(sqs, { WaitTimeSeconds: 20 }, gone.signal).catch(() => 'gone')
  // The one that waits behind it shows that the first has arrived.
  const next = receive(sqs, { WaitTimeSeconds: 20 })
  await sqs('ListQueues', {})
  gone.abort()
  expect(await given).toBe('gone')
  await until(async () => (await sqs('ListQueues', {})) !== undefined)
  await send(sqs, 'a', 'a1')
  expect(await next).toEqual(['a1'])
})

test('Receives that wait are served in the order in which they came, a group each.', async () => {
  const { endpoint } = await start()
  const sqs = sqsApi(endpoint)
  await makeQueue(sqs)
  const waiting = [1, 2, 3].map(() => receive(sqs, { WaitTimeSeconds: 20 }))
  for (const group of ['a', 'b', 'c']) await send(sqs, group, `${group}1`)
  expect((await Promise.all(waiting)).flat().sort()).toEqual(['a1', 'b1', 'c1'])
})

test('A web page is refused.', async () => {
  const { endpoint } = await start()
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'x-amz-target': 'AmazonSQS.ListQueues', origin: 'http://evil.example' },
    body: '{}',
  })
  expect(response.status).toBe(403)
})

test('Any bad request gets an error of SQS as its answer.', async () => {
  const { endpoint } = await start()
  await makeQueue(sqsApi(endpoint))
  const bodies = [
    ['SendMessage', 'no JSON'],
    ['SendMessage', '[]'],
    ['SendMessage', '{}'],
    ['SendMessage', JSON.stringify({ QueueUrl, MessageBody: 5 })],
    ['SendMessage', JSON.stringify({ QueueUrl, MessageBody: 'x', MessageAttributes: [] })],
    ['SendMessage', JSON.stringify({ QueueUrl, MessageBody: 'x', MessageAttributes: { a: 1 } })],
    ['SendMessageBatch', JSON.stringify({ QueueUrl, Entries: [1] })],
    ['SendMessageBatch', JSON.stringify({ QueueUrl, Entries: {} })],
    ['ReceiveMessage', JSON.stringify({ QueueUrl, MaxNumberOfMessages: 'x' })],
    ['ReceiveMessage', JSON.stringify({ QueueUrl, WaitTimeSeconds: -1 })],
    ['ChangeMessageVisibility', JSON.stringify({ QueueUrl, ReceiptHandle: 'x' })],
    ['CreateQueue', JSON.stringify({ QueueName: 'a b' })],
    ['CreateQueue', JSON.stringify({ QueueName: 'a.fifo' })],
    ['CreateQueue', JSON.stringify({ QueueName: 'a', Attributes: { RedrivePolicy: '{' } })],
    ['Nothing', '{}'],
    ['toString', '{}'],
  ]
  for (const [action, body] of bodies) {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { 'x-amz-target': `AmazonSQS.${action}` },
      body: body ?? '',
    })
    const { message } = (await response.json()) as { message?: string }
    expect([action, body, response.status, typeof message]).toEqual([action, body, 400, 'string'])
    expect(response.headers.get('x-amzn-query-error')).toMatch(/;Sender$/)
  }
})
