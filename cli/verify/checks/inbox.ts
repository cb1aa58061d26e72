import type { Queue } from '../../../client/index.ts'
import type { Check } from '../check.ts'
import { Skipped, same } from '../claims.ts'
import { numbers } from '../items.ts'
import type { Stage } from '../stage.ts'

const KEY = 'order-17'

export const inbox: Check = {
  name: 'inbox',
  promise: 'What the inbox accepted comes into its queue, once and in order',
  waits: true,
  steps: {
    'What was accepted one after the other comes in that order': async ({ queue, until }) => {
      const it = queue<number>()
      for (const n of numbers(5)) await accepted(it, n)
      same('the items', await come(it, 4, until), numbers(5))
    },

    'A push that is repeated with its key comes once': async ({ queue, until }) => {
      const it = queue<number>()
      for (const n of [0, 0, 1]) await accepted(it, n, n === 0 ? KEY : undefined)
      same('the items', await come(it, 1, until), [0, 1])
    },
  },
}

async function accepted(queue: Queue<number>, item: number, idempotencyKey?: string) {
  const { messageId } = await queue.push(item, { respondAsync: true, idempotencyKey })
  if (messageId === undefined) throw new Skipped('this service has no inbox')
}

/** The items there, without taking them, as soon as the one that was accepted last is among them. */
async function come(queue: Queue<number>, last: number, until: Stage['until']) {
  let found: number[] = []
  await until(`${last} to come from the inbox`, async () => {
    found = []
    for await (const { value } of queue.items()) found.push(value)
    return found.includes(last)
  })
  return found
}
