import { describe, expect, it } from 'vitest'
import type { InboxMessage } from '../../engine/queues.ts'
import type { FunctionName } from '../../lambdas/runtime/names.ts'
import { requestTimeout } from '../../testing/simulated/network.ts'
import { message, messages, refused as refusedMessage } from '../engine/messages.ts'
import { type EngineOnWire, onSimulated, openSimulated, type Stage } from '../engine/stage.ts'
import {
  bulky,
  drain,
  expectCode,
  lockItems,
  named,
  popItems,
  push,
  pushOneByOne,
  tidy,
} from '../engine/traffic.ts'
import type { Request, Steering } from '../engine/wire.ts'
import { rightsOf } from './rights.ts'
import { synthesised } from './synthesised.ts'

/**
 * The engine under the roles of the template: each verb by an engine that may do what its function
 * may, and is refused what it may not. Nothing it asks for is refused, and nothing that it was given
 * stays unused.
 */

const { resources } = synthesised()

const actions: Readonly<Record<string, string>> = {
  GetCommand: 'dynamodb:GetItem',
  PutCommand: 'dynamodb:PutItem',
  UpdateCommand: 'dynamodb:UpdateItem',
  DeleteCommand: 'dynamodb:DeleteItem',
  QueryCommand: 'dynamodb:Query',
  BatchGetCommand: 'dynamodb:BatchGetItem',
  BatchWriteCommand: 'dynamodb:BatchWriteItem',
  GetObjectCommand: 's3:GetObject',
  PutObjectCommand: 's3:PutObject',
  DeleteObjectsCommand: 's3:DeleteObject',
}
/** A transaction is allowed by the writes in it. */
const written: Readonly<Record<string, string>> = {
  Put: 'dynamodb:PutItem',
  Update: 'dynamodb:UpdateItem',
  Delete: 'dynamodb:DeleteItem',
  ConditionCheck: 'dynamodb:ConditionCheckItem',
}

/** The rights that a request needs, as `rightsOf` writes them. */
function needed({ service, name, input }: Request): string[] {
  if (name === 'TransactWriteCommand') {
    const items = input.TransactItems as readonly Record<string, unknown>[]
    return items.flatMap(Object.keys).map((kind) => `${written[kind]} on StorageTable`)
  }
  const index = input.IndexName === undefined ? '' : `/index/${input.IndexName}`
  return [`${actions[name]} on ${service === 's3' ? 'StorageSegments/*' : `StorageTable${index}`}`]
}

type RoleName = FunctionName | 'ApplyInbox' | 'Wake'
type Role = { readonly granted: ReadonlySet<string>; readonly used: Set<string> }

const roles = new Map<RoleName, Role>()
const refused: string[] = []

function roleOf(name: RoleName): Role {
  const lines = rightsOf(resources, name).filter((line) =>
    /Storage(Table|Segments)(\/| |$)/.test(line),
  )
  const role = roles.get(name) ?? { granted: new Set(lines), used: new Set<string>() }
  roles.set(name, role)
  return role
}

const later = { delaySeconds: 5 }

/** A batch and rows, due in five seconds, for a queue that has room for 20 items. */
async function pushMoreThanFits(stage: Stage, queue: string): Promise<void> {
  await as(stage, 'Manage').configure(queue, { capacity: 20 })
  const batch = large('a').map((item) => ({ ...item, ...later }))
  const rows = Array.from({ length: 50 }, (_, n) => ({ text: bulky(`b${n}`, 400), ...later }))
  await push(as(stage, 'Push'), queue, batch)
  await pushOneByOne(as(stage, 'Push'), queue, rows)
}

/** An engine in a fresh environment of this function. */
function as(stage: Stage, name: RoleName, before?: Steering['before']): EngineOnWire {
  const { granted, used } = roleOf(name)
  return stage.engine({
    async before(request, number) {
      await before?.(request, number)
      for (const right of needed(request)) {
        used.add(right)
        if (granted.has(right)) continue
        refused.push(`${name}: ${right}`)
        throw Object.assign(new Error('not authorised'), { name: 'AccessDeniedException' })
      }
    },
  })
}

/** Too large for rows: its batch lives in S3 from birth. */
const large = (name: string, items = 30, bytes = 1_000) =>
  Array.from({ length: items }, (_, n) => ({ text: bulky(`${name}${n}`, bytes) }))

/** S3 refuses to store. */
const withoutS3: Steering['before'] = ({ name }) => {
  if (name !== 'PutObjectCommand') return
  throw Object.assign(new Error('reduce your rate'), { name: 'SlowDown' })
}
/** Lets somebody else be first, once, where a transaction is about to be sent. */
function overtaken(by: () => Promise<unknown>): Steering['before'] {
  let done = false
  return async ({ name }) => {
    if (done || name !== 'TransactWriteCommand') return
    done = true
    await by()
  }
}

/** Deep enough to be offloaded, and drained as far as `popped`. */
async function deepQueue(stage: Stage, popped = 0): Promise<string> {
  const queue = stage.queue()
  await as(stage, 'Manage').configure(queue, { segmentSize: 10, bufferSegments: 1 })
  await pushOneByOne(as(stage, 'Push'), queue, named('a', 80))
  await push(as(stage, 'Push'), queue, large('b'))
  await tidy(as(stage, 'Housekeep'), queue)
  for (let left = popped; left > 0; left -= 10) {
    await popItems(as(stage, 'Pop'), queue, { count: 10 })
    await tidy(as(stage, 'Housekeep'), queue)
  }
  return queue
}

/** Its lanes are used up, and a run waits to be cleared away. */
async function withoutLanes() {
  const { stage, queue } = onSimulated()
  await as(stage, 'Manage').configure(queue, { segmentSize: 10 })
  await push(
    as(stage, 'Push'),
    queue,
    large('last', 60).map((item) => ({ ...item, priority: 9_999 })),
  )
  for (let from = 0; from < 999; from += 37) {
    const items = Array.from({ length: 37 }, (_, n) => ({ text: '1', priority: from + n }))
    await push(as(stage, 'Push'), queue, items)
  }
  for (let left = 999; left > 0; left -= 37) {
    await popItems(as(stage, 'Pop'), queue, { count: 37 })
  }
  // Of what no seal noted, the run copies even what lies in a batch in S3.
  await stage.forgetRuns(queue)
  return { stage, queue }
}

const runs: (() => Promise<void>)[] = []

/** A test that is also part of the last one, and runs once. */
function uses(title: string, test: () => Promise<void>): void {
  let done: Promise<void> | undefined
  const run = () => {
    done ??= test()
    return done
  }
  runs.push(run)
  it(title, run)
}

describe('Under the rights of its function, the engine', () => {
  uses('pushes: alone, in bulk, large, once, and into a queue with no lane left.', async () => {
    const { stage, queue } = onSimulated()
    await pushOneByOne(as(stage, 'Push'), queue, named('a', 60))
    await push(as(stage, 'Push'), queue, named('b', 100))
    await push(as(stage, 'Push'), queue, large('c'))
    await as(stage, 'Push').push(queue, { items: named('a', 3), idempotencyKey: 'small' })
    const twice = { items: large('d'), idempotencyKey: 'large' }
    await as(stage, 'Push').push(queue, twice)
    await as(stage, 'Push').push(queue, twice)

    await push(as(stage, 'Push', withoutS3), queue, large('e', 500))
    // The batch of a push that is refused, in S3, is thrown away.
    await as(stage, 'Manage').configure(queue, { capacity: 1 })
    await expectCode(push(as(stage, 'Push'), queue, large('f')), 'QUEUE_FULL')
  })

  uses('pushes into a queue with no lane left, which takes some housekeeping.', async () => {
    const { stage, queue } = await withoutLanes()
    await push(as(stage, 'Push'), queue, [{ text: '1', priority: 5_000 }])
  })

  uses('applies the inbox: keys together, what is refused, large, full or too often.', async () => {
    const { stage, queue } = onSimulated()
    const apply = (...batch: InboxMessage[]) => as(stage, 'ApplyInbox').apply(queue, batch)
    const keyed = [1, 2].map((number) => message(number, { idempotencyKey: `k${number}` }))
    expect(await apply(...keyed, refusedMessage(3))).toMatchObject({ settled: 3, pushed: 2 })
    const bulk = { ...refusedMessage(4), items: large('dead', 100, 10_000) }
    expect(await apply(bulk, message(5, { items: large('a') }))).toMatchObject({ settled: 2 })
    const late = { waitsUntilMs: 0, items: large('late') }
    await as(stage, 'Manage').configure(queue, { capacity: 1 })
    expect(await apply(message(6, late), message(7))).toMatchObject({
      settled: 1,
      error: { code: 'QUEUE_FULL' },
    })
    const pushLimit = { maxRequests: 1, windowMillis: 60_000 }
    await as(stage, 'Manage').configure(queue, { capacity: 5_000, pushLimit })
    const limited = as(stage, 'ApplyInbox')
    await limited.apply(queue, [message(7)])
    const { error } = await limited.apply(queue, [message(8)])
    expect(error).toMatchObject({ code: 'RATE_LIMITED' })
  })

  uses('applies the inbox to a queue with no lane left.', async () => {
    const { stage, queue } = await withoutLanes()
    const batch = [message(1, { items: [{ text: '1', priority: 5_000 }] }), ...messages(2, 3)]
    expect(await as(stage, 'ApplyInbox').apply(queue, batch)).toMatchObject({ settled: 3 })
  })

  uses('pops of either kind, from the record, from rows, from a batch and from S3.', async () => {
    const stage = openSimulated()
    const queue = await deepQueue(stage)
    await lockItems(as(stage, 'Pop'), queue, { count: 5, competing: true })
    const { lock } = await lockItems(as(stage, 'Pop'), queue, { count: 5, competing: true })
    await lockItems(as(stage, 'Pop'), queue, {
      requireAck: true,
      competing: true,
      acknowledge: lock.id,
    })
    stage.clock.pass(60_000)
    expect(await drain(as(stage, 'Pop'), queue)).toHaveLength(110 - 5)
  })

  uses('pops what has come due, also where the queue is too full for it.', async () => {
    const { stage, queue } = onSimulated()
    await pushMoreThanFits(stage, queue)
    expect((await as(stage, 'Inspect').scheduled(queue)).items).toHaveLength(20)
    stage.clock.pass(6_000)
    await popItems(as(stage, 'Pop'), queue)
    await as(stage, 'Manage').configure(queue, { capacity: 10_000 })
    expect(await drain(as(stage, 'Pop'), queue)).toHaveLength(79)
    const few = large('c', 5, 400).map((item) => ({ text: item.text, ...later }))
    await pushOneByOne(as(stage, 'Push'), queue, few)
    stage.clock.pass(6_000)
    expect(await drain(as(stage, 'Pop'), queue)).toHaveLength(5)
    await push(as(stage, 'Push'), queue, few)
    await as(stage, 'Manage').configure(queue, { capacity: 3 })
    stage.clock.pass(6_000)
    expect(await drain(as(stage, 'Pop'), queue)).toHaveLength(5)
  })

  uses(
    'settles: acknowledges, extends, releases, and dead-letters what lies anywhere.',
    async () => {
      const stage = openSimulated()
      const queue = await deepQueue(stage)
      const lockId = async (count: number) =>
        (await lockItems(as(stage, 'Pop'), queue, { count })).lock.id
      await as(stage, 'Settle').acknowledge(queue, { lockId: await lockId(3) })
      const second = await lockId(3)
      await as(stage, 'Settle').extend(queue, { lockId: second, ttlSeconds: 60 })
      await as(stage, 'Settle').release(queue, { lockId: second })
      await as(stage, 'Settle').acknowledgeMany(queue, [await lockId(2)])
      const overtaking = overtaken(() => as(stage, 'Manage').configure(queue, { capacity: 5_000 }))
      const settler = as(stage, 'Settle', overtaking)
      await settler.deadLetter(queue, { lockId: await lockId(100) })

      await push(as(stage, 'Push'), queue, large('f', 100, 10_000))
      await as(stage, 'Settle', withoutS3).deadLetter(queue, { lockId: await lockId(100) })
    },
  )

  uses('inspects, browses and lists.', async () => {
    const stage = openSimulated()
    const queue = await deepQueue(stage)
    await as(stage, 'Inspect').inspect(queue)
    await as(stage, 'Inspect').inspect(queue, { consistent: true })
    await as(stage, 'Inspect').browse(queue, { limit: 100 })
    await as(stage, 'Inspect').configuration(queue)
    expect((await as(stage, 'Inspect').list()).queues).toHaveLength(1)
  })

  uses('puts, shows, runs and deletes schedules, and pushes what is due.', async () => {
    const { stage, queue } = onSimulated()
    const [manage, inspect] = [as(stage, 'Manage'), as(stage, 'Inspect')]
    const schedule = { cron: '0 * * * *', text: bulky('large', 20_000), priority: 3 }
    await manage.putSchedule(queue, 'hourly', schedule)
    await manage.pauseSchedule(queue, 'hourly')
    await manage.resumeSchedule(queue, 'hourly')
    await manage.runSchedule(queue, 'hourly')
    stage.clock.pass(3_600_000)
    const swept = await as(stage, 'ReturnExpiredLocks').returnExpiredLocks()
    expect(swept).toMatchObject({ occurrencesPushed: 1, failed: [] })
    expect(await inspect.schedules(queue)).toHaveLength(1)
    await inspect.schedule(queue, 'hourly')
    await manage.deleteSchedule(queue, 'hourly')
  })

  uses('puts and deletes the schedules of a deployment.', async () => {
    const { stage, queue } = onSimulated()
    const sweeper = as(stage, 'ReturnExpiredLocks')
    const weekly = { queue, name: 'weekly', cron: '0 9 * * 1', text: '1' }
    const daily = { ...weekly, name: 'daily', cron: '0 9 * * *' }
    for (const [hash, schedules] of Object.entries({ one: [weekly, daily], two: [daily] })) {
      const { results } = await sweeper.deploySchedules(schedules, hash)
      expect(results.filter(({ result }) => result === 'failed')).toEqual([])
    }
    expect(await as(stage, 'Inspect').schedules(queue)).toMatchObject([{ name: 'daily' }])
  })

  uses('configures, redrives and purges.', async () => {
    const stage = openSimulated()
    const queue = await deepQueue(stage)
    const deadLetter = async (count: number) => {
      const { lock } = await lockItems(as(stage, 'Pop'), queue, { count })
      await as(stage, 'Settle').deadLetter(queue, { lockId: lock.id })
    }
    // One at a time, so that they do not lie there as one batch.
    for (let item = 1; item <= 75; item += 1) {
      await deadLetter(1)
      await tidy(as(stage, 'Housekeep'), queue)
    }
    await deadLetter(100)
    const dead = `${queue}-deadletter`
    await tidy(as(stage, 'Housekeep'), dead)
    const overtaking = overtaken(() => as(stage, 'Manage').configure(dead, { capacity: 5_000 }))
    await as(stage, 'Manage', overtaking).redrive(dead)
    await push(as(stage, 'Push'), queue, large('g', 100, 10_000))
    while ((await as(stage, 'Inspect').inspect(queue)).count > 0) await deadLetter(100)
    await as(stage, 'Manage', withoutS3).redrive(dead)
    await as(stage, 'Manage').purge(queue)
  })

  uses('keeps house while a queue is used up, with items that come back too often.', async () => {
    const stage = openSimulated()
    const queue = await deepQueue(stage, 40)
    await as(stage, 'Manage').configure(queue, { maxDeliveries: 1 })
    const { lock } = await lockItems(as(stage, 'Pop'), queue, { count: 100 })
    await as(stage, 'Settle').release(queue, { lockId: lock.id })
    await tidy(as(stage, 'Housekeep'), queue)
    expect(await drain(as(stage, 'Pop'), `${queue}-deadletter`)).not.toHaveLength(0)
  })

  uses('sweeps: ends locks, finishes housekeeping, forgets what is empty.', async () => {
    const stage = openSimulated()
    const queue = await deepQueue(stage)
    await as(stage, 'Manage').configure(queue, { maxDeliveries: 1 })
    await lockItems(as(stage, 'Pop'), queue, { count: 100, ttlSeconds: 1 })
    const plain = stage.queue()
    await push(as(stage, 'Push'), plain, named('a', 3))
    const { lock } = await lockItems(as(stage, 'Pop'), plain, { count: 3 })
    await as(stage, 'Settle').acknowledge(plain, { lockId: lock.id })
    for (let run = 1; run <= 4; run += 1) {
      stage.clock.pass(20 * 60_000)
      const { failed } = await as(stage, 'ReturnExpiredLocks').returnExpiredLocks()
      expect(failed).toEqual([])
    }
    expect(await stage.stored(plain)).toBeUndefined()
  })

  uses('runs schedules while it is awake, large ones too, and never asks S3.', async () => {
    const { stage, queue } = onSimulated()
    await as(stage, 'Manage').configure(queue, { capacity: 150 })
    // Full of expired items, which lie in rows.
    for (let push = 1; push <= 150; push += 1) {
      const text = bulky('over', 1_500)
      await as(stage, 'Push').push(queue, { items: [{ text, expiresInSeconds: 1 }] })
    }
    const schedule = { everySeconds: 10, text: bulky('large', 200_000) }
    await as(stage, 'Manage').putSchedule(queue, 'often', schedule)
    stage.clock.pass(60_000)
    let isOvertaken = false
    const wake = as(stage, 'Wake', async ({ service, input }) => {
      if (service === 's3') throw new Error('Wake has no business with S3')
      if (isOvertaken || !JSON.stringify(input).includes('"Put":')) return
      isOvertaken = true
      await stage.engine().returnExpiredLocks()
    })
    const report = await wake.wake({ deadlineMs: stage.clock.nowMs() + 15_000 })
    expect(report).toMatchObject({ occurrencesPushed: 1, failed: 0 })
    expect(await drain(stage.engine(), queue)).toHaveLength(7)
  })

  uses('stays awake for a lock that ends soon, also where an answer gets lost.', async () => {
    const { stage, queue } = onSimulated()
    await push(as(stage, 'Push'), queue, named('a', 3))
    await lockItems(as(stage, 'Pop'), queue, { ttlSeconds: 5 })
    let isLost = false
    const wake = as(stage, 'Wake', ({ name, input }) => {
      if (isLost || name !== 'UpdateCommand' || !JSON.stringify(input).includes('q#')) return
      isLost = true
      throw requestTimeout()
    })
    const report = await wake.wake({ deadlineMs: stage.clock.nowMs() + 60_000 })
    expect(report).toMatchObject({ itemsReturned: 1, failed: 0, left: false })
  })

  uses('stays awake for what comes due soon, and brings it to its lane.', async () => {
    const { stage, queue } = onSimulated()
    await pushMoreThanFits(stage, queue)
    const wake = async () => {
      const deadlineMs = stage.clock.nowMs() + 20_000
      expect(await as(stage, 'Wake').wake({ deadlineMs })).toMatchObject({ failed: 0, left: false })
    }
    await wake()
    expect((await as(stage, 'Inspect').inspect(queue)).count).toBe(20)
    await as(stage, 'Manage').configure(queue, { capacity: 10_000 })
    // With so many of them the record is to have none.
    const farAway = named('d', 500).map((item) => ({ ...item, delaySeconds: 1_000 }))
    await push(as(stage, 'Push'), queue, farAway)
    const few = named('c', 5).map((item) => ({ ...item, ...later }))
    await pushOneByOne(as(stage, 'Push'), queue, few)
    await wake()
    const { count, scheduledCount } = await as(stage, 'Inspect').inspect(queue)
    expect({ count, scheduledCount }).toEqual({ count: 85, scheduledCount: 500 })
  })

  uses('announces what waits, and starts timers of what was pushed without any.', async () => {
    const { stage, queue } = onSimulated()
    await push(stage.engine({ events: false }), queue, named('a', 3))
    const sweeper = as(stage, 'ReturnExpiredLocks')
    const deadlineMs = Number.POSITIVE_INFINITY
    expect(await sweeper.startTimers({ deadlineMs })).toMatchObject({ started: 1 })
    expect(await sweeper.announceWaiting()).toMatchObject({ announced: 1, failed: 0 })
  })

  it('is refused nothing that it asks for, and has no right that it never uses.', async () => {
    // Alone it runs all of them.
    for (const run of runs) await run().catch(() => {})
    const unused = [...roles].flatMap(([name, { granted, used }]) =>
      [...granted].filter((right) => !used.has(right)).map((right) => `${name}: ${right}`),
    )
    expect({ refused, unused }).toEqual({ refused: [], unused: [] })
    expect(roles.size).toBe(9)
  })
})
