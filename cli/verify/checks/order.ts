// Checks of what comes back: in which order, with which text, through S3, and under many hands at once.

import { randomBytes } from 'node:crypto'
import { isOutcomeUnknown, type Queue, rawJson } from '../../../client/index.ts'
import {
  Broken,
  drained,
  holds,
  lock,
  numbers,
  pushAll,
  same,
  together,
  valuesIn,
} from '../claims.ts'
import type { Check, Stage } from '../stage.ts'

const PRIORITY_MAX = 2_147_483_647

export const order: Check = {
  name: 'order',
  promise: 'First in, first out within a priority, and a better priority goes first',
  steps: {
    'Items pushed one by one come back in that order': async ({ queue }) => {
      const it = queue<number>()
      for (const n of numbers(5)) await it.push(n)
      const popped: number[] = []
      for (const _ of numbers(5)) popped.push(...valuesIn(await it.pop()))
      same('the items', popped, numbers(5))
    },

    'Items of one bulk push come back in that order': async ({ queue }) => {
      const it = queue<number>({ items: 120 })
      await pushAll(it, numbers(120))
      same('the items', await drained(it, 120), numbers(120))
    },

    'Single and bulk pushes in turn keep one order': async ({ queue }) => {
      const it = queue<number>({ items: 60 })
      for (const start of [0, 20, 40]) {
        await it.push(start)
        await pushAll(it, numbers(19, start + 1))
      }
      same('the items', await drained(it, 60), numbers(60))
    },

    'Priorities go from 0 to 2,147,483,647, whenever they were pushed': async ({ queue }) => {
      const it = queue<string>()
      await it.pushMany([
        { item: 'last', priority: PRIORITY_MAX },
        { item: 'third', priority: 7 },
        { item: 'first' },
      ])
      await it.push('second', { priority: 1 })
      await it.push('fourth', { priority: 7 })
      const promised = ['first', 'second', 'third', 'fourth', 'last']
      same('the items', await drained(it, 5), promised)
    },

    'A better priority that comes late goes before all that waits': async ({ queue }) => {
      const it = queue<string>()
      await pushAll(it, ['a', 'b', 'c'], 5)
      const popped = valuesIn(await it.pop())
      await it.push('urgent', { priority: 4 })
      same('the items', [...popped, ...(await drained(it, 4))], ['a', 'urgent', 'b', 'c'])
    },
  },
}

type Numbered = { readonly producer: number; readonly n: number }

const PUSHES_A_PRODUCER = 20
const QUEUES = 6
const ITEMS_A_QUEUE = 12
/** A consumer that finds nothing looks again after this long. */
const IDLE_MS = 100

export const concurrency: Check = {
  name: 'concurrency',
  promise: 'Under concurrency nothing is lost, nothing is doubled, and the order is kept',
  steps: {
    'Many producers and competing consumers on one queue': async (stage) => {
      const hands = Math.max(2, Math.floor(stage.atOnce / 2))
      const it = stage.queue<Numbered>({ items: hands * PUSHES_A_PRODUCER })
      const pushed = { sure: new Set<string>(), unsure: new Set<string>() }
      let producing = hands
      const producers = numbers(hands).map((producer) => async () => {
        try {
          await produce(it, producer, pushed)
        } finally {
          producing -= 1
        }
      })
      const isOver = () => producing === 0
      const taken: readonly Numbered[][] = numbers(hands).map(() => [])
      const consumers = taken.map((mine) => () => consume(stage, it, isOver, pushed, mine))
      await together([...producers, ...consumers])
      check(pushed, taken)
      same('the count at the end', (await it.inspect({ consistent: true })).count, 0)
    },

    'Many queues at once, each with a producer and a consumer': async (stage) => {
      const works = numbers(QUEUES).map(() => async () => {
        const it = stage.queue<number>({ items: ITEMS_A_QUEUE })
        const taken: number[] = []
        let isOver = false
        const produceAll = async () => {
          try {
            for (const n of numbers(ITEMS_A_QUEUE / 2)) await pushAll(it, [2 * n, 2 * n + 1])
          } finally {
            isOver = true
          }
        }
        const consumeAll = async () => {
          while (taken.length <= ITEMS_A_QUEUE) {
            const wasOver = isOver
            const popped = valuesIn(await it.pop({ count: 5 }))
            taken.push(...popped)
            if (popped.length > 0) continue
            if (wasOver) return
            await stage.pause(IDLE_MS)
          }
        }
        await together([produceAll, consumeAll])
        same(`the items of ${it.id}`, taken, numbers(ITEMS_A_QUEUE))
      })
      await together(works)
    },
  },
}

type Pushed = { readonly sure: Set<string>; readonly unsure: Set<string> }

/** Pushes one item after the other. If an answer is lost, its item may be there once, or not at all. */
async function produce(it: Queue<Numbered>, producer: number, pushed: Pushed): Promise<void> {
  for (const n of numbers(PUSHES_A_PRODUCER)) {
    const item = { producer, n }
    try {
      await it.push(item)
      pushed.sure.add(nameOf(item))
    } catch (error) {
      if (!isOutcomeUnknown(error)) throw error
      pushed.unsure.add(nameOf(item))
    }
  }
}

/** Takes items, acknowledges with the next pop, and ends when the producers have and nothing is left. */
async function consume(
  { pause }: Stage,
  it: Queue<Numbered>,
  isOver: () => boolean,
  { sure, unsure }: Pushed,
  taken: Numbered[],
): Promise<void> {
  let last: string | undefined
  for (;;) {
    const wasOver = isOver()
    const acknowledge = last === undefined ? {} : { acknowledge: last }
    const popped = await it.pop({
      count: 3,
      requireAck: true,
      competing: true,
      ttlSeconds: 60,
      ...acknowledge,
    })
    taken.push(...valuesIn(popped))
    last = popped.lock?.id
    if (popped.items.length > 0) {
      // Doubles are counted at the end, but a queue that never ends must not keep us.
      if (wasOver && taken.length > 2 * (sure.size + unsure.size)) {
        throw new Broken('a consumer had twice as many items as were pushed, and more came')
      }
      continue
    }
    if (wasOver) return
    await pause(IDLE_MS)
  }
}

function check({ sure, unsure }: Pushed, taken: readonly (readonly Numbered[])[]): void {
  const names = taken.flat().map(nameOf)
  const once = new Set(names)
  const doubled = names.filter((name, at) => names.indexOf(name) !== at)
  holds(doubled.length === 0, `${doubled.length} of ${sure.size} items came twice: ${doubled[0]}`)
  const lost = [...sure].filter((name) => !once.has(name))
  holds(lost.length === 0, `${lost.length} of ${sure.size} items were lost: ${lost[0]}`)
  const strange = names.filter((name) => !sure.has(name) && !unsure.has(name))
  holds(strange.length === 0, `${strange.length} items came that nobody pushed: ${strange[0]}`)
  for (const [consumer, items] of taken.entries()) {
    for (const [producer, some] of Map.groupBy(items, (item) => item.producer)) {
      const order = some.map(({ n }) => n)
      const what = `what consumer ${consumer} had of producer ${producer}`
      same(
        what,
        order,
        order.toSorted((a, b) => a - b),
      )
    }
  }
}

const nameOf = ({ producer, n }: Numbered): string => `${n} of producer ${producer}`

export const textKept: Check = {
  name: 'text',
  promise: 'An item’s text comes back byte for byte',
  steps: {
    'Numbers keep their spelling': unchanged(
      '1.0',
      '1e400',
      '-0',
      '1E+2',
      '0.1000',
      '12345678901234567890123',
      '[1.10,-0.0]',
    ),
    'Keys keep their order, and their doubles': unchanged(
      '{"b":1,"a":2,"b":3}',
      '{"":{},"items":[{"items":[]}]}',
      '{"__proto__":1,"constructor":null}',
    ),
    'White space stays between the tokens': unchanged(
      '{ "a" :\t1 ,\n "b" : [ ] }',
      '[ 1 ,\r\n 2 ]',
    ),
    'Unicode stays as it was written, raw or escaped': unchanged(
      '"Füße 漢字 🦄 \u2028"',
      '"\\u00fc \\ud83e\\udd84 \\ud800"',
      '"\\u0000 \\/ \\" ]},["',
    ),
    'Any JSON value is an item': unchanged('null', 'true', '""', '[]', '{}', '[[[[[]]]]]'),
    'An item may have 256 KiB': unchanged(`"${'0123456789abcdef'.repeat(16_384).slice(2)}"`),
  },
}

/** A browse and a pop give the same text back, pushed alone or in bulk. */
function unchanged(...texts: readonly string[]): (stage: Stage) => Promise<void> {
  return async ({ queue }) => {
    const it = queue()
    await it.push(rawJson(texts[0] ?? ''))
    if (texts.length > 1) await it.pushMany(texts.slice(1).map((one) => ({ item: rawJson(one) })))
    same('the texts of a browse', await browsed(it), texts)
    for (const at of numbers(texts.length)) {
      const { items } = await it.pop()
      same('the text of a pop', items[0]?.text, texts[at])
    }
  }
}

const browsed = async (queue: Queue): Promise<string[]> =>
  (await queue.peek({ limit: 100 })).items.map((item) => item.text)

/** Six segments of 100. Those between the buffer at the front and the tail go to S3. */
const ITEMS = 600
/** Of these at least; the last ones may stay in the tail. */
const ITEMS_SEALED = 500
/** Small enough to go into the record and be sealed from there, as a producer's pushes are. */
const ITEMS_A_PUSH = 10

/** Over 12 KB even when compressed: such a push becomes one S3 object. */
const LARGE_ITEMS = 200
const LARGE_ITEM_BYTES = 200

export const longQueue: Check = {
  name: 'long-queue',
  promise: 'A long queue goes through S3 and comes back in order',
  waits: true,
  steps: {
    '600 items go to S3 and come back in order': async ({ queue, until, saw }) => {
      const it = queue<string>({ items: ITEMS, offloads: ITEMS_SEALED })
      const values = numbers(ITEMS).map((n) => `item ${n} ${'.'.repeat(60)}`)
      for (let at = 0; at < ITEMS; at += ITEMS_A_PUSH) {
        await pushAll(it, values.slice(at, at + ITEMS_A_PUSH))
      }
      await until('housekeeping to offload the middle of a long queue', async () => {
        const [lane] = (await it.inspect({ consistent: true })).priorities
        const { headOffloadedSegment: from, tailOffloadedSegment: to } = lane ?? {}
        if (from === undefined || to === undefined) return false
        saw('in S3', `segments ${from} to ${to} of a queue of ${ITEMS}`)
        return true
      })
      const popped: string[] = []
      let last: string | undefined
      while (popped.length < ITEMS) {
        const acknowledge = last === undefined ? {} : { acknowledge: last }
        const locked = await lock(it, { count: 100, ttlSeconds: 60, ...acknowledge })
        popped.push(...valuesIn(locked))
        last = locked.lockId
      }
      same('the items', popped, values)
      await it.acknowledge(last ?? '')
      same('what is left', (await it.inspect({ consistent: true })).count, 0)
    },

    'A bulk push of 80 KB comes back whole': async ({ queue }) => {
      const it = queue<string>({ items: LARGE_ITEMS })
      const values = numbers(LARGE_ITEMS).map(() => randomBytes(LARGE_ITEM_BYTES).toString('hex'))
      await pushAll(it, values)
      same('the items', await drained(it, LARGE_ITEMS), values)
    },
  },
}
