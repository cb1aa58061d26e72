import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import type { Queues } from '../../../../../lambdas/engine/queues.ts'
import { QueueError } from '../../../../../lambdas/foundation/errors.ts'
import type { DocumentSender } from '../../../../../testing/simulated/simulated-client.ts'
import type { Command, CommandOf } from './command.ts'

/** What one life of a process calls. */
export type Service = {
  readonly queues: Queues
  readonly dynamodb: DocumentSender
  readonly tableName: string
  readonly abortAfter: (ms: number | undefined) => AbortSignal
}

export function perform(service: Service, command: Command): Promise<unknown> {
  const { queues, abortAfter } = service
  if (command.verb === 'pushTransactItem') return transact(service, command)
  if (command.verb === 'transact') {
    const { queue, items, own } = command
    return queues
      .transact(queue, items, (entries) => sendInLoop(service, command, entries))
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
async function transact(service: Service, command: CommandOf<'pushTransactItem'>): Promise<void> {
  const { queue, item, businessRow, again } = command
  const entry = await service.queues.pushTransactItem(queue, item)
  let unsure: unknown
  await sendTransaction(service, businessRow, entry).catch((error: unknown) => {
    if (!again || (error as QueueError).outcome !== 'unknown') throw error
    unsure = error
  })
  if (!again) return
  await sendTransaction(service, businessRow, entry).catch((error: unknown) => {
    if (!(error instanceof QueueError)) throw error
    if (unsure !== undefined) throw unsure
  })
}

const definite = new Set([
  'TransactionCanceledException',
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
])

/** The caller's side of pushTransactItem: its business row and the push, both or neither. */
async function sendTransaction(
  { dynamodb, tableName }: Service,
  businessRow: string,
  entry: Awaited<ReturnType<Queues['pushTransactItem']>>,
): Promise<unknown> {
  const Put = { TableName: tableName, Item: { pk: businessRow, sk: 'business' } }
  try {
    return await dynamodb.send(new TransactWriteCommand({ TransactItems: [{ Put }, entry] }))
  } catch (cause) {
    const { name, message } = cause as Error
    if (definite.has(name) && message.includes('ValidationError')) throw cause
    const told = `The caller's transaction: ${message}`
    if (definite.has(name)) throw new QueueError('BUSY', told, { cause })
    throw new QueueError('STORE_UNAVAILABLE', told, { outcome: 'unknown', cause })
  }
}

/** What a caller of `transact` sends: its errors are as the SDK throws them, and may be the caller's own. */
async function sendInLoop(
  { dynamodb, tableName }: Service,
  { businessRow, own }: CommandOf<'transact'>,
  entries: Parameters<Parameters<Queues['transact']>[2]>[0],
): Promise<void> {
  if (own === 'throws') throw new OwnFailure('before it was sent')
  const Item = { pk: businessRow, sk: 'business' }
  const condition = own === 'passes' ? 'attribute_not_exists(pk)' : 'attribute_exists(nowhere)'
  const Put = { TableName: tableName, Item, ConditionExpression: condition }
  try {
    await dynamodb.send(new TransactWriteCommand({ TransactItems: [{ Put }, ...entries] }))
  } catch (error) {
    // As the SDK's retries note it, on errors of the network too.
    throw Object.assign(error as Error, { $metadata: { attempts: 1, totalRetryDelay: 0 } })
  }
}

class OwnFailure extends Error {}

/** `transact` hands over what is the caller's own: right if it was, and then nothing is pushed. */
function ownFailure(own: CommandOf<'transact'>['own'], error: unknown): unknown {
  if (error instanceof QueueError) return error
  const { name, message } = error as Error
  const isOwn =
    own === 'throws'
      ? error instanceof OwnFailure
      : own === 'refuses' && name === 'TransactionCanceledException'
  return isOwn ? new QueueError('BUSY', `The caller's own: ${message}`, { cause: error }) : error
}
