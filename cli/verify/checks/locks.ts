// Checks of locks: who has them, how they end, and what becomes of their items.

import type { Queue } from '../../../client/index.ts'
import {
  drained,
  holds,
  lock,
  numbers,
  PAST_A_SECOND_MS,
  PAST_SHORT_MS,
  pushAll,
  refused,
  SHORT_SECONDS,
  same,
  together,
  valuesIn,
} from '../claims.ts'
import type { Check, Stage } from '../stage.ts'

const LOCKED = { code: 'QUEUE_LOCKED', status: 423 } as const

export const locks: Check = {
  name: 'locks',
  promise: 'A live lock keeps a queue exclusive, and its holder can extend or release it',
  steps: {
    'Another pop is refused with 423, and told until when': async ({ queue, once }) => {
      const it = queue<string>()
      await pushAll(it, ['a', 'b'])
      const held = await lock(it, { ttlSeconds: 60 })
      for (const options of [{}, { requireAck: true }]) {
        const error = await refused(once(it).pop(options), LOCKED)
        same('lock_expires_at', error.lockExpiresAtMs, held.lock?.expiresAtMs)
        holds((error.retryAfterMs ?? 0) > 0, 'the refusal had no Retry-After')
      }
    },

    'A pop without acknowledgement takes its items for good': async ({ queue }) => {
      const it = queue<string>()
      await pushAll(it, ['a', 'b', 'c'])
      const popped = await it.pop({ count: 2 })
      holds(popped.lock === undefined, 'a pop without require_ack made a lock')
      same('the items', [valuesIn(popped), await drained(it, 3)], [['a', 'b'], ['c']])
    },

    'A lock lives for 30 s, or as long as was asked for: 1 to 300 s': async ({ queue }) => {
      const lived: (number | undefined)[] = []
      for (const options of [{}, { ttlSeconds: 7 }, { ttlSeconds: 0 }, { ttlSeconds: 9_999 }]) {
        const it = queue<string>()
        await it.push('a')
        lived.push((await lock(it, options)).lock?.ttlSeconds)
      }
      same('ttl_seconds', lived, [30, 7, 1, 300])
    },

    'A lock that is extended outlives its first time': async ({ queue, once, pause }) => {
      const it = queue<string>()
      await it.push('a')
      const { lockId } = await lock(it, { ttlSeconds: SHORT_SECONDS })
      const extended = await it.extend(lockId, 60)
      same('ttl_seconds', extended.ttlSeconds, 60)
      await pause(PAST_SHORT_MS)
      await refused(once(it).pop(), LOCKED)
      same('the acknowledgement', await it.acknowledge(lockId), { itemsAcknowledged: 1 })
    },

    'Released items are at the front again at once, in their old order': async ({ queue }) => {
      const it = queue<string>({ returns: true })
      await pushAll(it, ['a', 'b', 'c'])
      const { lockId } = await lock(it, { count: 2, ttlSeconds: 60 })
      await it.push('d')
      same('the release', await it.release(lockId), { itemsReleased: 2 })
      same('the items', await drained(it, 4), ['a', 'b', 'c', 'd'])
    },

    'Some items of a lock can be released; the others stay locked': async ({ queue, once }) => {
      const it = queue<string>({ returns: true })
      await pushAll(it, ['a', 'b', 'c'])
      const { lockId, items } = await lock(it, { count: 3, ttlSeconds: 60 })
      await it.release(lockId, { ids: items.slice(1, 2).map(({ id }) => id) })
      await refused(once(it).pop(), LOCKED)
      same('the acknowledgement', await it.acknowledge(lockId), { itemsAcknowledged: 2 })
      same('the items', await drained(it, 1), ['b'])
    },

    'A returned item says how often it was delivered': async ({ queue }) => {
      const it = queue<string>({ returns: true })
      await it.push('a')
      const first = await lock(it)
      await it.release(first.lockId)
      const second = await lock(it)
      const deliveries = [...first.items, ...second.items].map((item) => item.deliveries)
      same('deliveries', deliveries, [1, 2])
    },
  },
}

export const acknowledge: Check = {
  name: 'acknowledge',
  promise: 'An acknowledged item is never delivered again',
  steps: {
    'An acknowledged item does not come back after its lock’s time': async ({ queue, pause }) => {
      const it = queue<string>()
      await pushAll(it, ['a', 'b', 'c'])
      const { lockId } = await lock(it, { count: 2, ttlSeconds: SHORT_SECONDS })
      same('the acknowledgement', await it.acknowledge(lockId), { itemsAcknowledged: 2 })
      await pause(PAST_SHORT_MS)
      same('what is left', await drained(it, 3), ['c'])
    },

    'Some items of a lock can be acknowledged; the others come back': async ({ queue }) => {
      const it = queue<string>({ returns: true })
      await pushAll(it, ['a', 'b', 'c'])
      const { lockId, items } = await lock(it, { count: 3, ttlSeconds: 60 })
      const ids = [items[0], items[2]].map((item) => item?.id ?? '')
      same('the acknowledgement', await it.acknowledge(lockId, { ids }), { itemsAcknowledged: 2 })
      await it.release(lockId)
      same('what is left', await drained(it, 3), ['b'])
    },

    'The next pop acknowledges the previous lock in the same request': async ({ queue }) => {
      const it = queue<string>({ returns: true })
      await pushAll(it, ['a', 'b', 'c'])
      const first = await lock(it, { ttlSeconds: 60 })
      const second = await lock(it, { ttlSeconds: 60, acknowledge: first.lockId })
      same('items_acknowledged', second.itemsAcknowledged, 1)
      same('the next items', valuesIn(second), ['b'])
      await it.release(second.lockId)
      same('what is left', await drained(it, 3), ['b', 'c'])
    },

    'Many locks are acknowledged in one call, and each has its result': async ({ queue }) => {
      const it = queue<string>()
      await pushAll(it, ['a', 'b', 'c'])
      const options = { competing: true, ttlSeconds: 60 }
      const [first, second] = [await lock(it, options), await lock(it, options)]
      const ids = [first.lockId, NO_LOCK, second.lockId]
      const results = await it.acknowledgeMany(ids)
      same(
        'the results',
        results.map(({ lockId, kind }) => [lockId, kind]),
        [
          [ids[0], 'acknowledged'],
          [ids[1], 'refused'],
          [ids[2], 'acknowledged'],
        ],
      )
      same('what is left', await drained(it, 3), ['c'])
    },

    'A second acknowledgement answers the same': async ({ queue }) => {
      const it = queue<string>()
      await pushAll(it, ['a', 'b'])
      const { lockId } = await lock(it, { count: 2 })
      const answers = [await it.acknowledge(lockId), await it.acknowledge(lockId)]
      same('the answers', answers, [{ itemsAcknowledged: 2 }, { itemsAcknowledged: 2 }])
    },

    'An expired lock is refused, and so is one that never existed': async ({ queue, pause }) => {
      const it = queue<string>({ returns: true })
      await it.push('a')
      await refused(it.acknowledge(NO_LOCK), { code: 'LOCK_NOT_FOUND', status: 404 })
      const { lockId } = await lock(it, { ttlSeconds: 1 })
      await pause(PAST_A_SECOND_MS)
      await refused(it.acknowledge(lockId), { code: 'LOCK_EXPIRED', status: 410 })
      const again = await lock(it)
      holds(again.lockId !== lockId, 'a second lock has the first one’s id')
      await refused(it.acknowledge(NO_LOCK), { code: 'INVALID_LOCK_ID', status: 400 })
    },
  },
}

/** Has the form of a lock id, and belongs to nobody. */
const NO_LOCK = 'AAAAAAAAAAA'

const competing = { competing: true, ttlSeconds: 60 } as const
const CONSUMERS = 6

export const competingConsumers: Check = {
  name: 'competing',
  promise: 'Competing consumers share a queue, and an item is in at most one live lock',
  steps: {
    'Locks that are taken at the same time have no item in common': async ({ queue }) => {
      const it = queue<number>({ items: CONSUMERS * 4 })
      await pushAll(it, numbers(CONSUMERS * 4))
      const pops = numbers(CONSUMERS).map(() => () => lock(it, { ...competing, count: 4 }))
      const taken = (await together(pops)).map(valuesIn)
      const all = taken.flat().sort((a, b) => a - b)
      same('the items of all locks', all, numbers(CONSUMERS * 4))
      for (const items of taken) {
        same(
          'the order within a lock',
          items,
          items.toSorted((a, b) => a - b),
        )
      }
    },

    'A competing pop passes by live locks, and an exclusive one is refused': async (stage) => {
      const it = stage.queue<string>()
      await pushAll(it, ['a', 'b', 'c'])
      const first = await lock(it, competing)
      const second = await lock(it, competing)
      same('the items', [first, second].map(valuesIn), [['a'], ['b']])
      holds(first.lockId !== second.lockId, 'two locks have one id')
      await refused(stage.once(it).pop(), { code: 'QUEUE_LOCKED', status: 423 })
    },

    'An item that one of them returns goes to the next pop first': async ({ queue }) => {
      const it = queue<string>({ returns: true })
      await pushAll(it, ['a', 'b', 'c'])
      const first = await lock(it, competing)
      await lock(it, competing)
      await it.release(first.lockId)
      same('the items', valuesIn(await lock(it, { ...competing, count: 2 })), ['a', 'c'])
    },
  },
}

export const expiry: Check = {
  name: 'expiry',
  promise: 'When a lock expires, its items return to their old place with nobody asking',
  waits: true,
  steps: {
    'The sweeper alone ends an expired lock': async ({ queue, until, sweeperWithinMs, saw }) => {
      const it = queue<string>({ returns: true })
      await it.push('left alone')
      const { lock: held } = await lock(it, { ttlSeconds: 1 })
      // We only look, because a pop would end the lock itself. The clock alone makes the item ready; its
      // delivery is counted only when somebody writes that the lock has ended.
      const isBack = async () => {
        const [item] = (await it.peek()).items
        return item?.state === 'ready' && item.deliveries === 1
      }
      await until('the sweeper to end an expired lock', isBack, sweeperWithinMs)
      const afterMs = Math.max(0, Date.now() - (held?.expiresAtMs ?? 0))
      saw('the sweeper', `${Math.ceil(afterMs / 1_000)} s after a lock had expired`)
      const { items } = await lock(it)
      same('deliveries', items[0]?.deliveries, 2)
    },

    'The next pop gets the items of an expired lock before later ones': async ({
      queue,
      pause,
    }) => {
      const it = queue<string>({ returns: true })
      await pushAll(it, ['a', 'b', 'c'])
      await lock(it, { count: 2, ttlSeconds: 1 })
      await it.push('d')
      await pause(PAST_A_SECOND_MS)
      same('the items', valuesIn(await lock(it, { count: 4 })), ['a', 'b', 'c', 'd'])
    },
  },
}

/** With what a JSON writer must escape. */
const REASON = 'no customer "17" \u2028'

export const deadLetters: Check = {
  name: 'dead-letters',
  promise: 'Items can be moved to the dead-letter queue with a reason, and back',
  steps: {
    'A call moves some items of a lock, and its reason goes with them': async (stage) => {
      const it = stage.queue<string>()
      const dead = stage.deadLettersOf(it)
      await pushAll(it, ['good', 'bad', 'later'])
      const { lockId, items } = await lock(it, { count: 2, ttlSeconds: 60 })
      const ids = items.slice(1).map(({ id }) => id)
      const moved = await it.deadLetter(lockId, { ids, reason: REASON })
      same('the answer', moved, { itemsDeadLettered: 1, deadLetterQueue: dead.id })
      await arrival(stage, dead, 1)
      same('the dead letters', await lettersIn(dead), [['bad', 0, REASON]])
      await it.acknowledge(lockId)
      same('what is left', await drained(it, 3), ['later'])
    },

    'An item that comes back max_deliveries times is moved': (stage) =>
      stage.withSettings(async (it) => {
        const dead = stage.deadLettersOf(it)
        await it.configure({ maxDeliveries: 2 })
        await pushAll(it, ['poison', 'good'])
        for (const time of [1, 2]) {
          const { lockId, items } = await lock(it, { ttlSeconds: 60 })
          same(`delivery ${time}`, [items[0]?.value, items[0]?.deliveries], ['poison', time])
          await it.release(lockId)
        }
        same('what is left', await drained(it, 2), ['good'])
        await arrival(stage, dead, 1)
        const letters = await lettersIn(dead)
        same(
          'the dead letters',
          letters.map(([value]) => value),
          ['poison'],
        )
      }),

    'A redrive puts them back with their priorities, in their order': async (stage) => {
      const it = stage.queue<string>()
      const dead = stage.deadLettersOf(it)
      await pushAll(it, ['a', 'b'], 3)
      await pushAll(it, ['c', 'd'], 1)
      const { lockId } = await lock(it, { count: 4, ttlSeconds: 60 })
      await it.deadLetter(lockId, { reason: 'try again' })
      await arrival(stage, dead, 4)
      await it.push('behind them', { priority: 3 })
      same('a part', await dead.redrive({ limit: 1 }), { itemsRedriven: 1, itemsLeft: 3 })
      same('the rest', await dead.redrive(), { itemsRedriven: 3, itemsLeft: 0 })
      const promised = [
        ['c', 1],
        ['d', 1],
        ['behind them', 3],
        ['a', 3],
        ['b', 3],
      ]
      const { items } = await it.pop({ count: 10 })
      same(
        'the items',
        items.map(({ value, priority }) => [value, priority]),
        promised,
      )
    },
  },
}

const arrival = ({ until }: Stage, dead: Queue, count: number) =>
  until('dead letters to arrive', async () => {
    const state = await dead.inspect({ consistent: true })
    return state.count >= count
  })

const lettersIn = async (dead: Queue) =>
  (await dead.peek()).items.map(({ value, priority, reason }) => [value, priority, reason])
