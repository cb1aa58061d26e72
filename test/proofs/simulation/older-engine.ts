import type { DocumentSender } from '../../../testing/simulated/simulated-client.ts'

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

/** Takes out of each update what such an engine would not write. */
export const asOlderEngine = (sender: DocumentSender): DocumentSender => ({
  send(command: { readonly input: Update }) {
    const { UpdateExpression, ExpressionAttributeValues = {} } = command.input
    if (UpdateExpression?.includes('.y=') !== true) return sender.send(command as never)
    const left = { ...ExpressionAttributeValues }
    const updated = UpdateExpression.replace(/,L\.#\w+\.y=(:\w+)/g, (_, value: string) => {
      delete left[value]
      return ''
    })
    Object.assign(command.input, { UpdateExpression: updated, ExpressionAttributeValues: left })
    return sender.send(command as never)
  },
})
