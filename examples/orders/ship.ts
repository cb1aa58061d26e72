import { consumer, type Item } from '../../lambdas/consumer/index.ts' // 'pushpop/consumer'

type Order = { readonly order: number; readonly address?: string | null }

export const handler = consumer<Order>((items, { queue, deadLetter }) => {
  const failed: string[] = []
  for (const item of items) {
    // No repetition would make it right, so we do not try it three times, but put it aside at once.
    if (item.value.address === null) deadLetter(item, 'no address')
    // Only this one comes again. Throwing here would ship those before it a second time.
    else if (!ship(item, queue)) failed.push(item.id)
  }
  return { failed }
})

function ship({ value, pushedAtMs }: Item<Order>, queue: string): boolean {
  const { order, address = 'where it always goes' } = value
  if (address === 'nowhere') {
    console.log(`${queue}: order ${order} cannot be shipped to nowhere`)
    return false
  }
  const waitedMs = Date.now() - pushedAtMs
  console.log(`${queue}: order ${order} is shipped to ${address}, ${waitedMs} ms after its push`)
  return true
}
