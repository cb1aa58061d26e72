import { consumer } from '../../lambdas/consumer/index.ts'

type Order = { readonly order: number; readonly address?: string | null }

export const handler = consumer<Order>((items, { queue, deadLetter }) => {
  for (const item of items) {
    const { order, address = 'where it always goes' } = item.value
    // No repetition would make it right: it is not tried three times, but put aside at once.
    if (address === null) {
      deadLetter(item, 'no address')
      continue
    }
    if (address === 'nowhere') throw new Error(`Cannot ship order ${order} to nowhere`)
    const waitedMs = Date.now() - item.pushedAtMs
    console.log(`${queue}: order ${order} is shipped to ${address}, ${waitedMs} ms after its push`)
  }
})
