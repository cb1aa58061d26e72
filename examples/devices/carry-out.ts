import { consumer, type Item } from '../../lambdas/consumer/index.ts' // 'pushpop/consumer'

type Command = { readonly step: string }

/** The commands of one device, in order. A command that cannot be carried out now holds up all those behind it. */
export const handler = consumer<Command>(async (items, { queue, signal }) => {
  for (const [at, item] of items.entries()) {
    if (signal.aborted || !(await carryOut(queue, item, signal))) {
      // This one and all behind it come again, in the same order. Those before it are done.
      return { failed: items.slice(at).map(({ id }) => id) }
    }
  }
  return { failed: [] }
})

async function carryOut(queue: string, item: Item<Command>, signal: AbortSignal): Promise<boolean> {
  const device = queue.slice('device.'.length)
  // The device knows the ids that it has carried out. Should this process die before the commands are
  // acknowledged, they come again with the same ids, and the device ignores them.
  const body = JSON.stringify({ id: item.id, step: item.value.step })
  const response = await fetch(`${process.env.DEVICES_URL}/${device}`, {
    method: 'POST',
    body,
    signal,
  }).catch(() => undefined)
  return response?.ok ?? false
}
