// A name that a call does not know is refused before anything is sent: the option that is meant may be the
// one that keeps items.

import { describe, expect, test } from 'vitest'
import { type ClientOptions, createClient, purgeQueues, redriveQueues } from '../../client/index.ts'
import { checkOptions } from '../../shared/options.ts'
import { clientOf, succeeds } from './scripted.ts'

type Called = ReturnType<typeof clientOf>
// biome-ignore lint/suspicious/noExplicitAny: what no compiler has checked.
const given = (options: object): any => options
const all = async (some: AsyncIterable<unknown>) => {
  for await (const _ of some);
}

const calls: readonly (readonly [string, string, string, (of: Called) => Promise<unknown>])[] = [
  ['pop', 'require_ack', 'requireAck', ({ queue }) => queue.pop(given({ require_ack: true }))],
  ['pop', 'ttl_seconds', 'ttlSeconds', ({ queue }) => queue.pop(given({ ttl_seconds: 5 }))],
  ['push', 'prioriti', 'priority', ({ queue }) => queue.push(1, given({ prioriti: 3 }))],
  [
    'pushMany',
    'idempotencykey',
    'idempotencyKey',
    ({ queue }) => queue.pushMany([], given({ idempotencykey: 'k' })),
  ],
  ['acknowledge', 'id', 'ids', ({ queue }) => queue.acknowledge('l', given({ id: ['i'] }))],
  [
    'acknowledgeMany',
    'sinal',
    'signal',
    ({ queue }) => queue.acknowledgeMany([], given({ sinal: 1 })),
  ],
  ['extend', 'Signal', 'signal', ({ queue }) => queue.extend('l', 5, given({ Signal: 1 }))],
  ['release', 'Ids', 'ids', ({ queue }) => queue.release('l', given({ Ids: ['i'] }))],
  ['deadLetter', 'reson', 'reason', ({ queue }) => queue.deadLetter('l', given({ reson: 'r' }))],
  ['purge', 'Priority', 'priority', ({ queue }) => queue.purge(given({ Priority: 1 }))],
  ['redrive', 'limits', 'limit', ({ queue }) => queue.redrive(given({ limits: 1 }))],
  [
    'inspect',
    'consistant',
    'consistent',
    ({ queue }) => queue.inspect(given({ consistant: true })),
  ],
  ['peek', 'limt', 'limit', ({ queue }) => queue.peek(given({ limt: 1 }))],
  ['items', 'cursr', 'cursor', ({ queue }) => all(queue.items(given({ cursr: 'c' })))],
  [
    'configure',
    'ifmatch',
    'ifMatch',
    ({ queue }) => queue.configure({}, given({ ifmatch: '"1"' })),
  ],
  [
    'unconfigure',
    'if_match',
    'ifMatch',
    ({ queue }) => queue.unconfigure(given({ if_match: '"1"' })),
  ],
  [
    'configure of a limit',
    'ifmatch',
    'ifMatch',
    ({ limit }) => limit.configure({}, given({ ifmatch: '"1"' })),
  ],
  ['rate.decide', 'can_wait', 'canWait', ({ limit }) => limit.decide(given({ can_wait: true }))],
  ['rate.wait', 'maxWait', 'maxWaitMs', ({ limit }) => limit.wait(given({ maxWait: 5 }))],
  ['rate.verify', 'sgnal', 'signal', ({ limit }) => limit.verify('t', given({ sgnal: 1 }))],
  ['rate.giveUp', 'sgnal', 'signal', ({ limit }) => limit.giveUp('t', given({ sgnal: 1 }))],
  ['rate.state', 'sgnal', 'signal', ({ limit }) => limit.state(given({ sgnal: 1 }))],
  [
    'rate.configuration',
    'sgnal',
    'signal',
    ({ limit }) => limit.configuration(given({ sgnal: 1 })),
  ],
  ['queues', 'perfix', 'prefix', ({ client }) => all(client.queues(given({ perfix: 'q' })))],
  [
    'consume',
    'lockTtlSecond',
    'lockTtlSeconds',
    ({ queue }) => queue.consume(() => {}, given({ lockTtlSecond: 5 })),
  ],
  [
    'consumeMany',
    'maxDelivery',
    'maxDeliveries',
    ({ client }) => client.consumeMany({ prefix: 'q' }, () => {}, given({ maxDelivery: 5 })),
  ],
  [
    'purgeQueues',
    'perfix',
    'prefix',
    ({ client }) => all(purgeQueues(client, given({ perfix: 'q' }))),
  ],
]

test.each(calls)(
  '%s refuses the option %s, names %s, and sends nothing',
  async (_, option, meant, call) => {
    const called = clientOf([succeeds])
    await expect(call(called)).rejects.toThrow(
      new TypeError(`Unknown option "${option}": it is ${meant}`),
    )
    expect(called.asked).toEqual([])
  },
)

test.each([
  ['pushMany', {}, {}],
  ['pushMany of a client that lingers', { linger: true }, {}],
  ['pushMany with respondAsync', {}, { respondAsync: true }],
])(
  '%s refuses a name in an item that it does not know, and sends nothing',
  async (_, options, how) => {
    const { queue, asked } = clientOf([succeeds], options)
    const items = [{ item: 1 }, { item: 2, delay_seconds: 60 }]
    await expect(queue.pushMany(items, how)).rejects.toThrow(
      new TypeError('Unknown option "delay_seconds" in items[1]: it is delaySeconds'),
    )
    await expect(queue.pushMany([given({ order: 17 })], how)).rejects.toThrow(
      'Unknown option "order" in items[0]: there are item, priority, expiresInSeconds,',
    )
    expect(asked).toEqual([])
  },
)

test.each([
  [
    'configureQueuePatterns',
    ({ client }: Called) =>
      client.configureQueuePatterns([given({ prefix: 'a', maxDeliveries: 4 })]),
    'maxDeliveries',
  ],
  [
    'configureRatePatterns',
    ({ client }: Called) => client.configureRatePatterns([given({ prefix: 'a', maxRequests: 4 })]),
    'maxRequests',
  ],
])('%s refuses settings that stand beside the prefix, and sends nothing', async (_, call, name) => {
  const called = clientOf([succeeds])
  await expect(call(called)).rejects.toThrow(
    new TypeError(`Unknown option "${name}" in patterns[0]: there are prefix, settings`),
  )
  expect(called.asked).toEqual([])
})

test.each([
  [{ cron: '0 9 * * *', timezone: 'Europe/Berlin' }, '"timezone" in the schedule: it is timeZone'],
  [{ every: '10s' }, '"every" in the schedule: it is everySeconds'],
  [{ everySeconds: 10, startsAtMs: 5 }, '"startsAtMs" in the schedule: it is startsAt'],
  [
    { interval: '10s' },
    '"interval" in the schedule: there are item, priority, cron, timeZone, everySeconds, startsAt, endsAt, missed',
  ],
])('schedules.put refuses %j, and sends nothing', async (schedule, words) => {
  const { queue, asked } = clientOf([succeeds])
  await expect(queue.schedules.put('s', given({ item: 1, ...schedule }))).rejects.toThrow(
    new TypeError(`Unknown option ${words}`),
  )
  expect(asked).toEqual([])
})

test.each([
  [{ auht: { kind: 'none' } }, '"auht": it is auth'],
  [{ timeout_ms: 5 }, '"timeout_ms": it is timeoutMs'],
  [{ retry: { attempts_max: 5 } }, '"attempts_max": it is attemptsMax'],
  [{ region: 'eu' }, '"region": there are url, auth, fetch, timeoutMs, retry, linger'],
])('createClient refuses %j', (options, words) => {
  expect(() => createClient({ url: 'http://service', ...given(options) })).toThrow(
    new TypeError(`Unknown option ${words}`),
  )
})

test.each([
  [{ kind: 'iam', credential: {} }, 'Unknown option "credential" in auth: it is credentials'],
  [{ kind: 'token', tokn: 'x' }, 'Unknown option "tokn" in auth: it is token'],
  [{ kind: 'none', region: 'eu' }, 'Unknown option "region" in auth: there is only kind'],
  [{ kind: 'token' }, "auth.token is missing, which auth.kind 'token' needs"],
  [{ kind: 'iam', region: 'eu' }, "auth.credentials is missing, which auth.kind 'iam' needs"],
  [{ kind: 'basic' }, "auth.kind must be 'iam', 'token' or 'none', and is \"basic\""],
  [{}, "auth.kind must be 'iam', 'token' or 'none', and is undefined"],
])('createClient refuses auth %j', (auth, words) => {
  expect(() => createClient({ url: 'https://service', auth: given(auth) })).toThrow(
    new TypeError(words),
  )
})

test.each(['purgeQueues', 'redriveQueues'])(
  '%s without a prefix touches no queue',
  async (name) => {
    const { client, asked } = clientOf([succeeds])
    const each = name === 'purgeQueues' ? purgeQueues : redriveQueues
    await expect(all(each(client, given({})))).rejects.toThrow('prefix is missing')
    expect(asked).toEqual([])
  },
)

test.each([[undefined], [{}], [{ endpoint: 'http://service' }]])(
  'createClient(%j) says that url is missing',
  (options) => {
    expect(() => createClient(options as unknown as ClientOptions)).toThrow(
      new TypeError(
        'The client needs url: the Url that the deployment prints, or http://localhost:8000',
      ),
    )
  },
)

test.each([['typo'], [null], [undefined], [7], [['q']], [{}], [{ prefix: 'a', queues: ['b'] }]])(
  'consumeMany(%j) says what its first argument is',
  async (which) => {
    const { client } = clientOf([succeeds])
    await expect(client.consumeMany(which as never, () => {})).rejects.toThrow(
      new TypeError('The first argument says which queues: { prefix } or { queues: [id, …] }'),
    )
  },
)

describe('The name that is meant', () => {
  const names = { count: 0, requireAck: 0, acknowledge: 0, ttlSeconds: 0 } as const

  test.each([['noAck'], ['autoAck'], ['max'], ['__proto__x'], ['0']])(
    'is not guessed for %s, which is near none: all are told',
    (name) => {
      expect(() => checkOptions({ [name]: 1 }, names)).toThrow(
        `Unknown option "${name}": there are count, requireAck, acknowledge, ttlSeconds`,
      )
    },
  )

  test('is not asked for if the value is undefined, which counts as absent', () => {
    checkOptions({ require_ack: undefined }, names)
    checkOptions(undefined, names)
  })

  test.each(['toString', 'constructor'])('is not what every object inherits: %s', (name) => {
    expect(() => checkOptions({ [name]: 1 }, names)).toThrow(TypeError)
  })
})
