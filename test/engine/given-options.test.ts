// What no compiler has checked: an option that the engine passed over may be the one that keeps items. A pop whose
// `require_ack` it does not see is for good.

import { describe, expect, it } from 'vitest'
import { careful, requestNames } from '../../engine/checked-queues.ts'
import { createQueues } from '../../engine/index.ts'
import { createRateLimits } from '../../rate/index.ts'
import '../support/engine-loaded.ts'
import { openSimulated } from './stage.ts'

// biome-ignore lint/suspicious/noExplicitAny: what no compiler has checked.
type Any = any

const rows: readonly (readonly [string, Any, string])[] = [
  ['pop', { require_ack: true }, '"require_ack": it is requireAck'],
  ['pop', { ack: true }, '"ack": there are count, requireAck,'],
  ['push', { items: [{ text: '1' }], idempotency_key: 'k' }, '"idempotency_key": it is idempot'],
  ['push', { items: [{ text: '1' }], priority: 5 }, '"priority": there are items, idempotencyKey'],
  ['acknowledge', { lockId: 'x', id: 'y' }, '"id": it is ids'],
  ['extend', { lockId: 'x', ttl: 30 }, '"ttl": it is ttlSeconds'],
  ['release', { lockId: 'x', delay: 30 }, '"delay": it is delaySeconds'],
  ['deadLetter', { lockId: 'x', reasons: 'no' }, '"reasons": it is reason'],
  ['purge', { prioritys: 5 }, '"prioritys": it is priority'],
  ['redrive', { limits: 5 }, '"limits": it is limit'],
  ['move', { ids: ['x'], deliverAt: 5 }, '"deliverAt": it is deliverAtMs'],
  ['browse', { limits: 5 }, '"limits": it is limit'],
  ['scheduled', { from: 5 }, '"from": it is fromMs'],
]

async function withItem() {
  const stage = openSimulated()
  const [queues, queue] = [careful(stage.engine()), stage.queue()]
  await queues.push(queue, { items: [{ text: '17' }] })
  return { stage, queues, queue }
}

const places = Object.entries(requestNames).flatMap(([verb, rows]) =>
  rows.flatMap(({ at, names }) => (names === undefined ? [] : [[verb, at] as const])),
)

describe('An option that the engine does not know is refused', () => {
  it.each(rows)('by %s of %j, with the one that is meant.', async (verb, request, words) => {
    const { queues, queue } = await withItem()
    const before = await queues.inspect(queue)
    const called = (queues as Any)[verb](queue, request)
    await expect(called).rejects.toThrow(new RegExp(`^Unknown option ${words}`))
    await expect(called).rejects.toBeInstanceOf(TypeError)
    expect(await queues.inspect(queue)).toEqual(before)
  })

  it.each(places)('by %s, wherever it takes its request.', async (verb, at) => {
    const { queues } = await withItem()
    const before = verb === 'deploySchedules' ? [] : {}
    const given = Array.from({ length: at + 1 }, (_, i) => (i === at ? { zzz: 1 } : before))
    await expect((queues as Any)[verb](...given)).rejects.toThrow(
      /Unknown option "zzz": there (are|is only)/,
    )
  })

  it.each<readonly [string, readonly unknown[], string]>([
    ['acknowledge', ['aLock'], 'takes an object with lockId, ids, and got a string'],
    ['acknowledge', [], 'takes an object with lockId, ids, and got undefined'],
    ['acknowledge', [{ lockId: 'l', ids: 'i' }], 'ids of acknowledge must be a list, and got a st'],
    ['acknowledgeMany', ['aLock'], 'lockIds of acknowledgeMany must be a list, and got a string'],
    ['push', [[{ text: '1' }]], 'takes an object with items, idempotencyKey, receivedMs, and got'],
    ['push', [], 'takes an object with items, idempotencyKey, receivedMs, and got undefined'],
    ['push', [{ items: { text: '1' } }], 'items of push must be a list, and got an object'],
    ['push', [{}], 'items of push must be a list, and got undefined'],
    ['push', [{ items: [null] }], 'items[0] must be an object, and got null'],
    ['transact', [[{ text: '1' }]], 'send of transact must be a function, and got undefined'],
    ['transact', [], 'items of transact must be a list, and got undefined'],
    ['pushTransactItem', ['x'], 'the item must be an object, and got a string'],
    ['cancel', ['i'], 'ids of cancel must be a list, and got a string'],
    ['move', [{ ids: 'i' }], 'ids of move must be a list, and got a string'],
    ['purge', [{ ids: 'i' }], 'ids of purge must be a list, and got a string'],
    ['configure', [], 'the change must be an object, and got undefined'],
    ['pop', [null], 'and got null'],
  ])('by %s of %j, which is not what it takes.', async (verb, given, words) => {
    const { queues, queue } = await withItem()
    const before = await queues.inspect(queue)
    const error = await (queues as Any)[verb](queue, ...given).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toContain(words)
    expect(await queues.inspect(queue)).toEqual(before)
  })

  it('by a schedule, which would begin at once without the time that it is to start.', async () => {
    const { queues, queue } = await withItem()
    const input: Any = { everySeconds: 60, text: '1', startsAt: 5 }
    await expect(queues.putSchedule(queue, 'often', input)).rejects.toThrow(
      'Unknown option "startsAt": it is startsAtMs',
    )
  })

  it('by createQueues.', () => {
    const options: Any = { tableName: 't', bucketName: 'b', idempotencyTtl: 60 }
    expect(() => createQueues(options)).toThrow(
      'Unknown option "idempotencyTtl": it is idempotencyTtlSeconds',
    )
  })

  it.each([
    ['idempotencyTtlSeconds', 0, 'a whole number from 60 to 2592000, and is 0'],
    ['idempotencyTtlSeconds', -5, 'and is -5'],
    ['idempotencyTtlSeconds', 59, 'and is 59'],
    ['idempotencyTtlSeconds', 90.5, 'and is 90.5'],
    ['idempotencyTtlSeconds', '1d', 'and is "1d"'],
    ['idempotencyTtlSeconds', null, 'and is null'],
    ['idempotencyTtlSeconds', 2_592_001, 'and is 2592001'],
    ['remindAfterSeconds', 0, 'a whole number from 10 to 3600, and is 0'],
    ['waitingPopsMax', -1, 'a whole number from 0 on, and is -1'],
    ['events', 'false', 'a boolean, and got a string'],
    ['random', 5, 'a function, and got a number'],
    ['onBackgroundError', console, 'a function, and got an object'],
    ['dynamodb', 't', 'a client of DynamoDB, and got a string'],
    ['s3', undefined, 'a client .*, and got undefined'],
    ['clock', Date.now, 'an object, and got a function'],
  ])('by createQueues whose %s is %j.', (name, value, words) => {
    const options: Any = { tableName: 't', bucketName: 'b', dynamodb: { send: unsent }, s3: unsent }
    createQueues(options)
    createQueues({ ...options, idempotencyTtlSeconds: 60, remindAfterSeconds: 10 })
    createQueues({ ...options, idempotencyTtlSeconds: 2_592_000, waitingPopsMax: 0 })
    expect(() => createQueues({ ...options, [name]: value })).toThrow(
      new RegExp(`^${name} must be .*${words}$`),
    )
  })

  it('by createQueues without options.', () => {
    expect(() => (createQueues as Any)('table')).toThrow(
      'The options must be an object with tableName, bucketName, dynamodb, s3, clock, random',
    )
  })

  it('by the rate limiter, which would decide by other numbers.', async () => {
    const limits = createRateLimits({ tableName: 't', dynamodb: { send: unsent } })
    const calls: readonly (readonly [() => Promise<unknown>, string])[] = [
      [() => limits.decide('key', { cosst: 5 } as Any), '"cosst": it is cost'],
      [() => limits.admit('key', { can_wait: true } as Any), '"can_wait": it is canWait'],
      [() => limits.unconfigure('key', { ifmatch: 1 } as Any), '"ifmatch": it is ifMatch'],
      [
        () => limits.decide('key', { overrides: { max: 5 } } as Any),
        '"max" in overrides: there are',
      ],
    ]
    for (const [called, words] of calls) {
      await expect(called()).rejects.toThrow(`Unknown option ${words}`)
    }
  })
})

it('An option that is undefined counts as absent.', async () => {
  const { queues, queue } = await withItem()
  const request: Any = { requireAck: true, require_ack: undefined }
  expect(await queues.pop(queue, request)).toMatchObject({ kind: 'items', lock: {} })
})

const unsent = () => {
  throw new Error('it was sent')
}
