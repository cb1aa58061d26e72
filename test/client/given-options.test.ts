// What is no option at all: a priority instead of `{ priority }`, nothing where something is needed. Ignored, it would
// be a push of priority 0, or a pop without a lock.

import { expect, test } from 'vitest'
import { createClient, purgeQueues } from '../../client/index.ts'
import { clientOf, succeeds } from './scripted.ts'

// biome-ignore lint/suspicious/noExplicitAny: what no compiler has checked.
type Any = any
type Called = { readonly client: Any; readonly queue: Any; readonly limit: Any }

const all = async (some: AsyncIterable<unknown>) => {
  for await (const _ of some);
}
const ids = ['a']

const rows: readonly (readonly [string, (of: Called) => Promise<unknown>, string])[] = [
  ['push', ({ queue }) => queue.push('urgent?', 5), 'push takes an object with priority'],
  ['push with null', ({ queue }) => queue.push(1, null), 'signal, and got null'],
  ['pop', ({ queue }) => queue.pop(5), 'pop takes an object with count, requireAck'],
  ['pop with null', ({ queue }) => queue.pop(null), 'and got null'],
  ['pop with a text', ({ queue }) => queue.pop('5'), 'and got a string'],
  ['pop with a list', ({ queue }) => queue.pop([]), 'and got a list'],
  ['acknowledge', ({ queue }) => queue.acknowledge('l', ids), 'signal, and got a list'],
  ['acknowledgeMany', ({ queue }) => queue.acknowledgeMany(ids, 5), 'with signal, and got a num'],
  ['extend', ({ queue }) => queue.extend('l', 5, 5), 'extend takes an object with signal, and'],
  ['release', ({ queue }) => queue.release('l', 5), 'release takes an object with ids, delaySec'],
  ['deadLetter', ({ queue }) => queue.deadLetter('l', 'bad'), 'takes an object with ids, reason'],
  ['inspect', ({ queue }) => queue.inspect(true), 'and got a boolean'],
  ['peek', ({ queue }) => queue.peek(5), 'peek takes an object with priority, limit'],
  ['items', ({ queue }) => all(queue.items(5)), 'The options must be an object with priority'],
  ['scheduled', ({ queue }) => queue.scheduled(5), 'scheduled takes an object with limit'],
  ['configuration', ({ queue }) => queue.configuration(5), 'and got a number'],
  [
    'configure',
    ({ queue }) => queue.configure(),
    'the settings must be an object, and got undefined',
  ],
  ['unconfigure', ({ queue }) => queue.unconfigure('"1"'), 'takes an object with ifMatch, signal'],
  ['cancel', ({ queue }) => queue.cancel(ids, 5), 'cancel takes an object with signal'],
  ['move', ({ queue }) => queue.move(ids), 'move takes an object with priority, queue, deliverAt'],
  ['purge', ({ queue }) => queue.purge(5), 'purge takes an object with priority, ids'],
  ['redrive', ({ queue }) => queue.redrive(5), 'redrive takes an object with limit, ids'],
  ['pushMany', ({ queue }) => queue.pushMany({ item: 1 }), 'items of pushMany must be a list, and'],
  ['pushMany without items', ({ queue }) => queue.pushMany(), 'a list, and got undefined'],
  [
    'pushMany of values',
    ({ queue }) => queue.pushMany([1, 2]),
    'items[0] must be an object with item',
  ],
  ['schedules.put', ({ queue }) => queue.schedules.put('x'), 'the schedule must be an object with'],
  ['schedules.run', ({ queue }) => queue.schedules.run('x', 5), 'run takes an object with signal'],
  ['rate.decide', ({ limit }) => limit.decide(5), 'decide takes an object with canWait, maxWaitMs'],
  ['rate.wait', ({ limit }) => limit.wait(5), 'wait takes an object with maxWaitMs'],
  ['rate.verify', ({ limit }) => limit.verify('t', 5), 'verify takes an object with signal'],
  ['rate.configure', ({ limit }) => limit.configure(), 'the settings must be an object, and got'],
  ['queues', ({ client }) => all(client.queues('a.')), 'The options must be an object with prefix'],
  ['health', ({ client }) => client.health(5), 'health takes an object with signal'],
  [
    'configureQueuePatterns',
    ({ client }) => client.configureQueuePatterns({ prefix: 'a' }),
    'patterns of configureQueuePatterns must be a list, and got an object',
  ],
  [
    'configureRatePatterns',
    ({ client }) => client.configureRatePatterns([5]),
    'patterns[0] must be an object with prefix, settings, and got a number',
  ],
  ['consume', ({ queue }) => queue.consume(() => {}, 5), 'an object with concurrency, batchSize'],
  ['retry', ({ queue }) => queue.consume(() => {}, { retry: 5 }), 'retry must be an object with'],
  [
    'retry of consumeMany',
    ({ client }) => client.consumeMany({ prefix: '' }, () => {}, { retry: '5m' }),
    'retry must be an object with delays, backoff, jitter, overtake, and got a string',
  ],
  [
    'consumeMany',
    ({ client }) => client.consumeMany({ prefix: '' }, () => {}, 5),
    'The options must be an object with queuesAtOnce, batchSize',
  ],
  ['purgeQueues', ({ client }) => all(purgeQueues(client, 'a.' as Any)), 'an object with prefix'],
]

test.each(rows)('%s refuses what is no options, and sends nothing.', async (_, call, words) => {
  const called = clientOf([succeeds])
  const error = await call(called).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(TypeError)
  expect((error as Error).message).toContain(words)
  expect(called.asked).toEqual([])
})

test('The options of a client must be objects, too.', () => {
  const url = 'http://service'
  const made = (options: Any) => () => createClient(options)
  expect(made({ url, retry: 5 })).toThrow('The options must be an object with attemptsMax')
  expect(made({ url, auth: 'iam' })).toThrow('auth must be an object, and got a string')
  expect(made({ url, auth: null })).toThrow('auth must be an object, and got null')
})
