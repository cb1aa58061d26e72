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
  switch (command.verb) {
    case 'push':
      return queues.push(command.queue, command.request)
    case 'pushTransactItem':
      return transact(queues, command, sendTransaction)
    case 'pop':
      return queues.pop(command.queue, command.request)
    case 'acknowledge':
      return queues.acknowledge(command.queue, command.request)
    case 'acknowledgeMany':
      return queues.acknowledgeMany(command.queue, command.lockIds)
    case 'extend':
      return queues.extend(command.queue, command.request)
    case 'release':
      return queues.release(command.queue, command.request)
    case 'deadLetter':
      return queues.deadLetter(command.queue, command.request)
    case 'inspect':
      return queues.inspect(command.queue, { consistent: command.consistent })
    case 'browse':
      return queues.browse(command.queue, command.request)
    case 'configuration':
      return queues.configuration(command.queue)
    case 'configure':
      return queues.configure(command.queue, command.change)
    case 'purge':
      return queues.purge(command.queue, command.request)
    case 'redrive':
      return queues.redrive(command.queue, command.request)
    case 'list':
      return queues.list({})
    case 'housekeep':
      return queues.housekeep(command.queue, command.request)
    case 'returnExpiredLocks':
      return queues.returnExpiredLocks({})
    case 'announceWaiting':
      return queues.announceWaiting({})
    default:
      return command satisfies never
  }
}

/** A caller that is not sure sends its transaction again, with the entry that it has; some always do. */
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
