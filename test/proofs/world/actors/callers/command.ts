import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import type { PushItem, QueuePatternInput, Queues } from '../../../../../engine/queues.ts'
import { QueueError } from '../../../../../shared/errors.ts'
import type { DocumentSender } from '../../../../../testing/simulated/network.ts'

/** Verbs that ask something of one queue. */
// biome-ignore format: a table
type QueueVerb =
  | 'push' | 'pop' | 'acknowledge' | 'acknowledgeMany' | 'extend' | 'release' | 'deadLetter'
  | 'inspect' | 'browse' | 'scheduled' | 'configure' | 'unconfigure' | 'cancel' | 'move' | 'purge' | 'redrive'

/** Verbs that a queue's name is enough for. */
type PlainVerb = 'configuration' | 'housekeep'

/** Verbs about all queues: `queue` is empty. */
type ServiceVerb = 'list' | 'returnExpiredLocks' | 'wake' | 'announceWaiting'

// biome-ignore format: a table
export type PlainCallVerb =
  | 'apply' | 'putSchedule' | 'deleteSchedule' | 'pauseSchedule' | 'resumeSchedule' | 'runSchedule'
  | 'deploySchedules' | 'deployPatterns'

type QueueCommand<V extends QueueVerb> = {
  readonly verb: V
  readonly queue: string
  readonly request: NonNullable<Parameters<Queues[V]>[1]>
  /** Of a pop that waits. */
  readonly cancelAfterMs?: number
  /** Of a page: the last item of the one before. */
  readonly afterId?: string
}

type PlainCommand<V extends PlainVerb> = {
  readonly verb: V
  readonly queue: string
  readonly request?: Parameters<Queues[V]>[1]
}

type ServiceCommand<V extends ServiceVerb> = {
  readonly verb: V
  readonly queue: ''
  readonly request?: Parameters<Queues[V]>[0]
}

/** A call of another part of the interface, with its arguments as they are. */
type PlainCall<V extends PlainCallVerb> = {
  readonly verb: V
  readonly queue: string
  readonly rest: readonly unknown[]
  /** The pushes that it may bring, each with its items. */
  readonly pushes?: readonly (readonly PushItem[])[]
}

/** One call of a verb, as data: what the workload draws, the history shows and a writer performs. */
export type Command =
  | { [V in QueueVerb]: QueueCommand<V> }[QueueVerb]
  | { [V in PlainVerb]: PlainCommand<V> }[PlainVerb]
  | { [V in ServiceVerb]: ServiceCommand<V> }[ServiceVerb]
  | { [V in PlainCallVerb]: PlainCall<V> }[PlainCallVerb]
  | {
      readonly verb: 'pushTransactItem'
      readonly queue: string
      readonly item: PushItem
      /** Key of the caller's own row in the same transaction. */
      readonly businessRow: string
      /** The transaction is sent twice. */
      readonly again?: boolean
    }
  | {
      /** The loop around it: the caller's own part may refuse, before or as it is sent. */
      readonly verb: 'transact'
      readonly queue: string
      readonly items: readonly PushItem[]
      readonly businessRow: string
      readonly own: 'passes' | 'refuses' | 'throws'
    }
  | {
      readonly verb: 'configurePatterns'
      readonly queue: ''
      readonly patterns: readonly QueuePatternInput[]
      readonly request: { readonly ifMatch?: number }
    }

export type Verb = Command['verb']

export type CommandOf<V extends Verb> = Extract<Command, { readonly verb: V }>

/** The locks that a call is about, by their ids. */
export function locksNamedBy(command: Command | undefined): readonly (string | undefined)[] {
  if (command?.verb === 'acknowledgeMany') return command.request
  if (command?.verb === 'pop') return [command.request.acknowledge]
  const isOne = /^(acknowledge|release|deadLetter|extend)$/.test(command?.verb ?? '')
  return isOne ? [(command as CommandOf<'acknowledge'>).request.lockId] : []
}

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
