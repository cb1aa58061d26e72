import type { Queues } from '../../../lambdas/engine/queues.ts'
import { QueueError } from '../../../lambdas/foundation/errors.ts'
import type { Command, CommandOf } from './command.ts'

/** The caller's own transaction: its business row and the push, both or neither. */
export type SendBusinessTransaction = (
  businessRow: string,
  entry: Awaited<ReturnType<Queues['pushTransactItem']>>,
) => Promise<unknown>

export function perform(
  queues: Queues,
  command: Command,
  sendTransaction: SendBusinessTransaction,
): Promise<unknown> {
  if (command.verb === 'pushTransactItem') return transact(queues, command, sendTransaction)
  if (command.verb === 'configurePatterns') {
    return queues.configurePatterns(command.patterns, command.request)
  }
  const { verb, queue } = command
  const call = queues[verb] as (...request: unknown[]) => Promise<unknown>
  if (queue === '') return call({})
  return 'request' in command ? call(queue, command.request) : call(queue)
}

/** A caller that is not sure sends its transaction again, with the same entry; some always do. */
async function transact(
  queues: Queues,
  { queue, item, businessRow, again }: CommandOf<'pushTransactItem'>,
  send: SendBusinessTransaction,
): Promise<unknown> {
  const entry = await queues.pushTransactItem(queue, item)
  let unsure: unknown
  await send(businessRow, entry).catch((error: unknown) => {
    if (!again || (error as QueueError).outcome !== 'unknown') throw error
    unsure = error
  })
  if (!again) return undefined
  const passed = await send(businessRow, entry).then(
    () => true,
    (error: unknown) => {
      if (!(error instanceof QueueError)) throw error
      return false
    },
  )
  if (!passed && unsure !== undefined) throw unsure
  return undefined
}
