import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import type { Queues } from '../../../../../engine/queues.ts'
import { QueueError } from '../../../../../shared/errors.ts'
import type { DocumentSender } from '../../../../../testing/simulated/network.ts'
import type { Command, CommandOf } from './command.ts'

export type Service = {
  readonly queues: Queues
  readonly dynamodb: DocumentSender
  readonly tableName: string
  readonly abortAfter: (ms: number | undefined) => AbortSignal
}

export function perform(service: Service, command: Command): Promise<unknown> {
  const { queues, abortAfter } = service
  if (command.verb === 'pushTransactItem') return transact(service, command)
  if (command.verb === 'transact') return transactInLoop(service, command)
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

type Entries = Parameters<Parameters<Queues['transact']>[2]>[0]

/** The caller's side of a transaction: its business row and the pushes, all or none. */
function send({ dynamodb, tableName }: Service, pk: string, entries: Entries, condition?: string) {
  const Item = { pk, sk: 'business' }
  const Put = { TableName: tableName, Item, ...(condition && { ConditionExpression: condition }) }
  return dynamodb.send(new TransactWriteCommand({ TransactItems: [{ Put }, ...entries] }))
}

/** A caller that is not sure sends its transaction again, with the same entry; some always do. */
async function transact(service: Service, command: CommandOf<'pushTransactItem'>): Promise<void> {
  const { queue, item, businessRow, again } = command
  const entry = await service.queues.pushTransactItem(queue, item)
  const attempt = () => send(service, businessRow, [entry]).catch(asOurs)
  let unsure: unknown
  await attempt().catch((error: unknown) => {
    if (!again || (error as QueueError).outcome !== 'unknown') throw error
    unsure = error
  })
  if (!again) return
  await attempt().catch((error: unknown) => {
    if (!(error instanceof QueueError)) throw error
    if (unsure !== undefined) throw unsure
  })
}

const definite =
  /^(TransactionCanceled|ProvisionedThroughputExceeded|Throttling)Exception$|^RequestLimitExceeded$/

function asOurs(cause: Error): never {
  const { name, message } = cause
  if (definite.test(name) && message.includes('ValidationError')) throw cause
  const told = `The caller's transaction: ${message}`
  if (definite.test(name)) throw new QueueError('BUSY', told, { cause })
  throw new QueueError('STORE_UNAVAILABLE', told, { outcome: 'unknown', cause })
}

class OwnFailure extends Error {}

/** Its errors are as the SDK throws them, and may be the caller's own: then nothing is pushed. */
function transactInLoop(service: Service, command: CommandOf<'transact'>): Promise<unknown> {
  const { queue, items, businessRow, own } = command
  const condition = own === 'passes' ? 'attribute_not_exists(pk)' : 'attribute_exists(nowhere)'
  const sendOwn = async (entries: Entries): Promise<void> => {
    if (own === 'throws') throw new OwnFailure('before it was sent')
    await send(service, businessRow, entries, condition).catch((error: Error) => {
      // As the SDK's retries note it, on errors of the network too.
      throw Object.assign(error, { $metadata: { attempts: 1, totalRetryDelay: 0 } })
    })
  }
  return service.queues.transact(queue, items, sendOwn).catch((error: Error) => {
    const isRefused = own === 'refuses' && error.name === 'TransactionCanceledException'
    const isOwn = !(error instanceof QueueError) && (isRefused || error instanceof OwnFailure)
    const { message } = error
    throw isOwn ? new QueueError('BUSY', `The caller's own: ${message}`, { cause: error }) : error
  })
}
