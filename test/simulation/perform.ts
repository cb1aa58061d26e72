import type { Queues } from '../../lambdas/queues.ts'
import type { Command } from './command.ts'

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
      return queues
        .pushTransactItem(command.queue, command.item)
        .then((entry) => sendTransaction(command.businessRow, entry))
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
      return queues.housekeep(command.queue)
    case 'returnExpiredLocks':
      return queues.returnExpiredLocks({})
    case 'announceWaiting':
      return queues.announceWaiting({})
    default:
      return command satisfies never
  }
}
