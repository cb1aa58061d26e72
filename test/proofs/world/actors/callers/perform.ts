import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import type { Queues } from '../../../../../lambdas/engine/queues.ts'
import { QueueError } from '../../../../../lambdas/foundation/errors.ts'
import type { DocumentSender } from '../../../../../testing/simulated/simulated-client.ts'
import type { Command, CommandOf } from './command.ts'

/** The caller's own transaction: its business row and the push, both or neither. */
export type SendBusinessTransaction = (
  businessRow: string,
  entry: Awaited<ReturnType<Queues['pushTransactItem']>>,
) => Promise<unknown>

/** The same in the loop that `transact` is: with its entries, and as the SDK answers. */
export type SendInLoop = (
  command: CommandOf<'transact'>,
  entries: Parameters<Parameters<Queues['transact']>[2]>[0],
) => Promise<unknown>

export type Service = {
  readonly queues: Queues
  readonly sendTransaction: SendBusinessTransaction
  readonly sendInLoop: SendInLoop
  readonly abortAfter: (ms: number | undefined) => AbortSignal
}

export function perform(service: Service, command: Command): Promise<unknown> {
  const { queues, sendTransaction, sendInLoop, abortAfter } = service
  if (command.verb === 'pushTransactItem') return transact(queues, command, sendTransaction)
  if (command.verb === 'transact') {
    const { queue, items, own } = command
    return queues
      .transact(queue, items, (entries) => sendInLoop(command, entries))
      .catch((error: unknown) => {
        throw ownFailure(own, error)
      })
  }
  if (command.verb === 'pop' && command.request.waitSeconds !== undefined) {
    const signal = abortAfter(command.cancelAfterMs)
    return queues.pop(command.queue, { ...command.request, signal })
  }
  if (command.verb === 'configurePatterns') {
    return queues.configurePatterns(command.patterns, command.request)
  }
  const { verb, queue } = command
  const call = queues[verb] as (...request: unknown[]) => Promise<unknown>
  if ('rest' in command) return call(...(queue === '' ? [] : [queue]), ...command.rest)
  if (queue === '') return call('request' in command ? command.request : {})
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

const definite = new Set([
  'TransactionCanceledException',
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
])

/** The caller's side of pushTransactItem; its errors in the words of the history. */
export function businessTransaction(
  dynamodb: DocumentSender,
  tableName: string,
): SendBusinessTransaction {
  return async (businessRow, entry) => {
    const row = { TableName: tableName, Item: { pk: businessRow, sk: 'business' } }
    const command = new TransactWriteCommand({ TransactItems: [{ Put: row }, entry] })
    try {
      return await dynamodb.send(command)
    } catch (cause) {
      const { name, message } = cause as Error
      if (definite.has(name)) {
        if (message.includes('ValidationError')) throw cause
        throw new QueueError('BUSY', `The caller's transaction: ${message}`, { cause })
      }
      throw new QueueError('STORE_UNAVAILABLE', `The caller's transaction: ${message}`, {
        outcome: 'unknown',
        cause,
      })
    }
  }
}

/** What a caller of `transact` sends: its errors are as the SDK throws them, and may be the caller's own. */
export const transactionInLoop =
  (dynamodb: DocumentSender, tableName: string): SendInLoop =>
  async ({ businessRow, own }, entries) => {
    if (own === 'throws') throw new OwnFailure('before it was sent')
    const condition = own === 'passes' ? 'attribute_not_exists(pk)' : 'attribute_exists(nowhere)'
    const Put = {
      TableName: tableName,
      Item: { pk: businessRow, sk: 'business' },
      ConditionExpression: condition,
    }
    try {
      await dynamodb.send(new TransactWriteCommand({ TransactItems: [{ Put }, ...entries] }))
    } catch (error) {
      // As the SDK's retries note it, on errors of the network too.
      throw Object.assign(error as Error, { $metadata: { attempts: 1, totalRetryDelay: 0 } })
    }
  }

class OwnFailure extends Error {}

/** `transact` hands over what is the caller's own: right if it was, and then nothing is pushed. */
export function ownFailure(own: CommandOf<'transact'>['own'], error: unknown): unknown {
  if (error instanceof QueueError) return error
  const { name, message } = error as Error
  const isOwn =
    own === 'throws'
      ? error instanceof OwnFailure
      : own === 'refuses' && name === 'TransactionCanceledException'
  return isOwn ? new QueueError('BUSY', `The caller's own: ${message}`, { cause: error }) : error
}
