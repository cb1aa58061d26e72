import type { DocumentSender } from '../../../../../testing/simulated/simulated-client.ts'

type Update = {
  readonly UpdateExpression?: string
  readonly ExpressionAttributeValues?: Readonly<Record<string, unknown>>
}

/** Whether a world has writers of different ages. */
export const isOfTwoAges = (seed: number): boolean => seed % 4 === 0

/** In one world of four, every other writer is a process from before engines noted where they seal items to. */
export function isOlder(seed: number, name: string): boolean {
  const number = /^w(\d+)$/.exec(name)?.[1]
  return number !== undefined && isOfTwoAges(seed) && (seed / 4 + Number(number)) % 2 === 0
}

/**
 * Takes out of each update what such an engine would not write, and out of each answer what it would not
 * read: so it offloads over batches, wherever they are.
 */
export const asOlderEngine = (sender: DocumentSender): DocumentSender => ({
  async send(command: { readonly input: Update }) {
    try {
      return withoutRuns(await sender.send(asOlder(command) as never)) as never
    } catch (error) {
      // A condition that failed shows the record as it was.
      const { Item } = error as { Item?: unknown }
      if (Item !== undefined) Object.defineProperty(error, 'Item', { value: withoutRuns(Item) })
      throw error
    }
  },
})

function asOlder(command: { readonly input: Update }) {
  const { UpdateExpression, ExpressionAttributeValues = {} } = command.input
  if (UpdateExpression?.includes('.y=') !== true) return command
  const left = { ...ExpressionAttributeValues }
  const updated = UpdateExpression.replace(/,L\.#\w+\.y=(:\w+)/g, (_, value: string) => {
    delete left[value]
    return ''
  })
  Object.assign(command.input, { UpdateExpression: updated, ExpressionAttributeValues: left })
  return command
}

/** Records are the only items with lanes (`L`), whatever request they come by. */
function withoutRuns(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map(withoutRuns)
  if (!isPlain(answer)) return answer
  const parts = Object.entries(answer).map(([name, value]) => {
    if (name !== 'L' || !isPlain(value)) return [name, withoutRuns(value)]
    return [name, Object.fromEntries(Object.entries(value).map(laneWithoutRuns))]
  })
  return Object.fromEntries(parts)
}

function laneWithoutRuns([priority, lane]: [string, unknown]): [string, unknown] {
  if (!isPlain(lane)) return [priority, lane]
  const { y: _, ...older } = lane
  return [priority, older]
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
