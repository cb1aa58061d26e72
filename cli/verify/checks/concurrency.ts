import { isOutcomeUnknown, type Queue } from '../../../client/index.ts'
import type { Check } from '../check.ts'
import { Broken, holds, same } from '../claims.ts'
import { numbers, pushAll, together, valuesIn } from '../items.ts'
import type { Stage } from '../stage.ts'

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
      ack: true,
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
