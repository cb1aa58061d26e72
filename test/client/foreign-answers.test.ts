// A 200 that is not PushPop's: a proxy that answers `{}`, another service at the address.

import { expect, test, vi } from 'vitest'
import { isPushPopError } from '../../client/index.ts'
import { answers, clientOf, useFakeTime } from './scripted.ts'

useFakeTime()

type Called = ReturnType<typeof clientOf>
type Row = readonly [string, (of: Called) => Promise<unknown>]

const schedule = { item: 1, everySeconds: 60 }
const changes: readonly Row[] = [
  ['push', ({ queue }) => queue.push(1)],
  ['pushMany', ({ queue }) => queue.pushMany([{ item: 1 }])],
  ['pop', ({ queue }) => queue.pop()],
  ['acknowledge', ({ queue }) => queue.acknowledge('l')],
  ['acknowledgeMany', ({ queue }) => queue.acknowledgeMany(['l'])],
  ['extend', ({ queue }) => queue.extend('l', 30)],
  ['release', ({ queue }) => queue.release('l')],
  ['deadLetter', ({ queue }) => queue.deadLetter('l')],
  ['configure', ({ queue }) => queue.configure({})],
  ['unconfigure', ({ queue }) => queue.unconfigure()],
  ['cancel', ({ queue }) => queue.cancel(['i'])],
  ['move', ({ queue }) => queue.move(['i'], { priority: 1 })],
  ['purge', ({ queue }) => queue.purge()],
  ['redrive', ({ queue }) => queue.redrive()],
  ['schedules.put', ({ queue }) => queue.schedules.put('s', schedule)],
  ['schedules.delete', ({ queue }) => queue.schedules.delete('s')],
  ['schedules.run', ({ queue }) => queue.schedules.run('s')],
  ['schedules.pause', ({ queue }) => queue.schedules.pause('s')],
  ['configureQueuePatterns', ({ client }) => client.configureQueuePatterns([])],
  ['rate.decide', ({ limit }) => limit.decide()],
  ['rate.giveUp', ({ limit }) => limit.giveUp('t')],
  ['rate.configure', ({ limit }) => limit.configure({})],
  ['configureRatePatterns', ({ client }) => client.configureRatePatterns([])],
]
const reads: readonly Row[] = [
  ['inspect', ({ queue }) => queue.inspect()],
  ['peek', ({ queue }) => queue.peek()],
  ['scheduled', ({ queue }) => queue.scheduled()],
  ['configuration', ({ queue }) => queue.configuration()],
  ['schedules.list', ({ queue }) => queue.schedules.list()],
  ['schedules.get', ({ queue }) => queue.schedules.get('s')],
  ['queuePatterns', ({ client }) => client.queuePatterns()],
  ['queues', ({ client }) => client.queues()[Symbol.asyncIterator]().next()],
  ['health', ({ client }) => client.health()],
  ['rate.state', ({ limit }) => limit.state()],
  ['rate.verify', ({ limit }) => limit.verify('t')],
  ['rate.configuration', ({ limit }) => limit.configuration()],
  ['ratePatterns', ({ client }) => client.ratePatterns()],
]

const once = { retry: { attemptsMax: 1 } }
/** As another service might have them. */
const foreign = [{}, [], { items: 5, ids: 'i', results: {}, queues: 1, patterns: 1, shards: 1 }]

test.each(changes)('%s does not know what happened.', async (_, call) => {
  for (const body of foreign) {
    const error = await call(clientOf([answers(200, body)], once)).catch((it: unknown) => it)
    expect(error).toMatchObject({ code: 'UNEXPECTED_ANSWER', status: 200, outcome: 'unknown' })
  }
})

test.each(reads)('%s says that the answer is not PushPop’s.', async (_, call) => {
  for (const body of foreign) {
    const error = await call(clientOf([answers(200, body)], once)).catch((it: unknown) => it)
    expect(error).toMatchObject({ code: 'UNEXPECTED_ANSWER', retryable: true, outcome: undefined })
  }
})

test('A push that lingers does not know what happened, either.', async () => {
  const { queue } = clientOf([answers(200, {})], { ...once, linger: true })
  const error = queue.push(1).catch((it: unknown) => it)
  await vi.advanceTimersByTimeAsync(10)
  expect(await error).toMatchObject({ code: 'UNEXPECTED_ANSWER', outcome: 'unknown' })
})

test('consumeMany goes on, and says what it met.', async () => {
  const { client, asked } = clientOf([answers(200, {}), answers(200, { queues: [] })])
  const stop = new AbortController()
  const met: unknown[] = []
  const onError = (trouble: { kind: string; error?: unknown }) => {
    met.push(trouble.kind, isPushPopError(trouble.error, 'UNEXPECTED_ANSWER'))
  }
  const options = { signal: stop.signal, onError }
  const ended = client.consumeMany({ prefix: 'q' }, () => {}, options).catch((it: unknown) => it)
  await vi.advanceTimersByTimeAsync(10_000)
  stop.abort()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await ended).toMatchObject({ acknowledged: 0 })
  expect(met).toEqual(['look', true])
  expect(asked.length).toBeGreaterThan(2)
})
