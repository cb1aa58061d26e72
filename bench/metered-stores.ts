// Clients that count what each request costs, and take their time: the same `send` as the SDK's, with the latency of the
// store and the units that DynamoDB reports. They tell commands apart by class name, because they may come from another
// copy of the library.
//
// AWS bills a write that its condition refuses like one that went through, by the existing item or the item that it
// would have made, whichever is larger; but the exception carries no capacity. So the metered client asks for ALL_OLD
// on failure (free of charge) and counts itself. We do not know what an update would have made, so we count the old
// item and every value sent, which is never too little.

import { unmarshall } from '@aws-sdk/util-dynamodb'
import { writeUnits } from '../testing/simulated/dynamodb/database.ts'
import { ingestItem, itemSize } from '../testing/simulated/dynamodb/values.ts'
import type { Meter, Tally } from './meter.ts'

export type Command = { readonly input: object }

/** The `send` of the AWS clients, without the types of single commands. */
export type Sender = { send(command: Command): Promise<object> }

export type StoredRow = Readonly<Record<string, unknown>>

export type Input = {
  readonly Key?: StoredRow
  readonly Item?: StoredRow
  readonly ExpressionAttributeValues?: StoredRow
  readonly ReturnValues?: string
  readonly ReturnValuesOnConditionCheckFailure?: 'ALL_OLD' | 'NONE'
  readonly TransactItems?: readonly Readonly<Record<string, Input>>[]
  readonly RequestItems?: Readonly<Record<string, unknown>>
}

export const DYNAMODB_LATENCY_MS = 5
export const S3_LATENCY_MS = 20

type Metering = {
  readonly meter: Meter
  /** Waits while a request is under way. */
  wait(ms: number): Promise<void>
}
type DynamodbMetering = Metering & {
  /** Sees each row that a single write left behind, as the table's stream would show it. */
  onRow?(row: StoredRow): void
}

type Capacity = { readonly CapacityUnits?: number }
type Answer = {
  readonly ConsumedCapacity?: Capacity | readonly Capacity[]
  readonly Attributes?: StoredRow
}

/** A document client that counts, and takes its time. */
export function meterDynamodb(inner: Sender, metering: DynamodbMetering): Sender {
  const { meter, wait, onRow } = metering
  return {
    async send(command: Command) {
      const input = command.input as Input
      const verb = verbOf(command)
      const kind = `${verb} ${rowKindOf(input)}`
      const asked = ask(verb, input, onRow !== undefined)
      await wait(DYNAMODB_LATENCY_MS)
      try {
        const answer: Answer = await inner.send(withInput(command, asked))
        const units = capacityOf(answer)
        meter.add(kind, { requests: 1, [isWrite(verb) ? 'writeUnits' : 'readUnits']: units })
        const row = verb === 'put' ? input.Item : answer.Attributes
        if (row !== undefined && asked.ReturnValues !== 'ALL_OLD') onRow?.(row)
        return input.ReturnValues === asked.ReturnValues ? answer : withoutAttributes(answer)
      } catch (error) {
        meter.add(kind, { requests: 1, ...failure(input, error) })
        if (isRefused(error) || isCancelled(error)) hideOldRow(input, error)
        throw error
      }
    },
  }
}

function ask(verb: string, input: Input, rowsToo: boolean): Input {
  const withCapacity = { ...input, ReturnConsumedCapacity: 'INDEXES' }
  const asked =
    isConditional(verb) || verb === 'transactwrite' ? askForOldRow(withCapacity) : withCapacity
  // DynamoDB returns rows for free, so asking for one changes no figure.
  const seesRow = rowsToo && verb === 'update' && (input.ReturnValues ?? 'NONE') === 'NONE'
  return seesRow ? { ...asked, ReturnValues: 'ALL_NEW' } : asked
}

function failure(input: Input, error: unknown) {
  if (isRefused(error)) return { failedWrites: 1, writeUnits: refusedWriteUnits(input, error) }
  if (isCancelled(error)) return { failedWrites: 1, writeUnits: cancelledWriteUnits(input, error) }
  return { throttled: isThrottled(error) ? 1 : 0 }
}

function capacityOf({ ConsumedCapacity: consumed }: Answer): number {
  if (consumed === undefined) return 0
  const all = Array.isArray(consumed) ? (consumed as Capacity[]) : [consumed as Capacity]
  return all.reduce((units, { CapacityUnits = 0 }) => units + CapacityUnits, 0)
}

function withoutAttributes({ Attributes: _, ...rest }: Answer): Answer {
  return rest
}

/** How S3 prices a request: a list like a PUT, a HEAD like a GET, a delete not at all. */
const priceClasses: Readonly<Record<string, Partial<Tally>>> = {
  put: { s3Puts: 1 },
  list: { s3Puts: 1 },
  copy: { s3Puts: 1 },
  get: { s3Gets: 1 },
  head: { s3Gets: 1 },
}

export function meterS3(inner: Sender, { meter, wait }: Metering): Sender {
  return {
    async send(command) {
      const verb = verbOf(command)
      meter.add(`s3 ${verb}`, { requests: 1, ...priceClasses[verb] })
      await wait(S3_LATENCY_MS)
      return inner.send(command)
    },
  }
}

/** `UpdateCommand` and `UpdateItemCommand` are both `update`. */
export const verbOf = (command: Command): string =>
  command.constructor.name.replace(/(Item|Object|ObjectsV2)?Command$/, '').toLowerCase()

const conditional = new Set(['put', 'update', 'delete'])
const isConditional = (verb: string): boolean => conditional.has(verb)
const isWrite = (verb: string): boolean => conditional.has(verb) || /write$/.test(verb)

/** The same command with another input; the caller's own object stays as it is. */
function withInput<C extends Command>(command: C, input: object): C {
  const Constructor = command.constructor as new (input: object) => C
  return new Constructor(input)
}

/** `q#`, `s#`, `b#`, `i#`: the kind of row a command is about, from the first key it names. */
function rowKindOf(input: Input): string {
  const [entry] = input.TransactItems ?? []
  if (entry !== undefined) return rowKindOf(Object.values(entry)[0] ?? {})
  const rows = [input.Key, input.Item, input.ExpressionAttributeValues]
  for (const row of rows) {
    for (const value of Object.values(row ?? {})) {
      if (typeof value === 'string' && value[1] === '#') return value.slice(0, 2)
    }
  }
  const [request] = Object.values(input.RequestItems ?? {})
  return request === undefined ? '' : rowKindOfRequest(request)
}

type Batched = {
  readonly PutRequest?: Input
  readonly DeleteRequest?: Input
}

function rowKindOfRequest(request: unknown): string {
  if (Array.isArray(request)) {
    const { PutRequest, DeleteRequest } = request[0] as Batched
    return rowKindOf(PutRequest ?? DeleteRequest ?? {})
  }
  const [Key] = (request as { readonly Keys?: readonly StoredRow[] }).Keys ?? []
  return Key === undefined ? '' : rowKindOf({ Key })
}

type OldRow = Parameters<typeof unmarshall>[0]

type WriteError = Error & {
  Item?: OldRow
  CancellationReasons?: { Code?: string; Item?: OldRow }[]
}

export const isRefused = (error: unknown): error is WriteError =>
  error instanceof Error && error.name === 'ConditionalCheckFailedException'

export const isCancelled = (error: unknown): error is WriteError =>
  error instanceof Error && error.name === 'TransactionCanceledException'

const throttles = new Set([
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
])
const isThrottled = (error: unknown): boolean => error instanceof Error && throttles.has(error.name)

/** The command's input, asking for what counting needs. */
function askForOldRow(input: Input): Input {
  if (input.TransactItems === undefined) {
    return { ...input, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }
  }
  const entries = input.TransactItems.map((entry) =>
    Object.fromEntries(Object.entries(entry).map(([verb, it]) => [verb, askForOldRow(it)])),
  )
  return { ...input, TransactItems: entries }
}

const refusedWriteUnits = (input: Input, error: WriteError): number =>
  writeUnits(sizeTouched(input, error.Item), 0)

/**
 * A transaction is billed double because it prepares and commits; one that is cancelled in its
 * first half is counted once, which favours algorithms that use them (here: the sources').
 */
function cancelledWriteUnits(input: Input, error: WriteError): number {
  let units = 0
  for (const [i, entry] of (input.TransactItems ?? []).entries()) {
    const reason = error.CancellationReasons?.[i]
    units += writeUnits(sizeTouched(Object.values(entry)[0] ?? {}, reason?.Item), 0)
  }
  return units
}

/** Leaves the exception as the caller would have got it. */
function hideOldRow(input: Input, error: WriteError): void {
  if (input.ReturnValuesOnConditionCheckFailure !== 'ALL_OLD') delete error.Item
  for (const [i, entry] of (input.TransactItems ?? []).entries()) {
    const asked = Object.values(entry)[0]?.ReturnValuesOnConditionCheckFailure === 'ALL_OLD'
    if (!asked) delete error.CancellationReasons?.[i]?.Item
  }
}

function sizeTouched(input: Input, oldRow: OldRow | undefined): number {
  const oldBytes = oldRow === undefined ? 0 : itemBytes(unmarshall(oldRow))
  if (input.Item !== undefined) return Math.max(oldBytes, itemBytes(input.Item))
  return oldBytes + itemBytes(input.ExpressionAttributeValues ?? {})
}

export const itemBytes = (item: object): number => itemSize(ingestItem(item))

const timerErrorMs = 1.2

type Lateness = { readonly waits: number; readonly meanMs: number }

export type Delay = {
  wait(ms: number): Promise<void>
  /**
   * How late the waits ended says whether this process kept up: a loop that is busy with other
   * producers ends them late, and then the figure is the machine's, not the algorithm's.
   */
  lateness(): Lateness
}

/**
 * Waits that are as long as they say. A plain `setTimeout(5)` takes 5 to 6.3 ms here, an error as large as the
 * differences that we measure; so a timer gets us near, and the loop's own turns do the rest.
 */
export function createDelay(): Delay {
  const waiting: { readonly dueMs: number; readonly resolve: () => void }[] = []
  let timer: NodeJS.Timeout | undefined
  let timerDueMs = Number.POSITIVE_INFINITY
  let turning = false
  let waits = 0
  let lateMs = 0

  function pump() {
    timer = undefined
    turning = false
    const nowMs = performance.now()
    let nextMs = Number.POSITIVE_INFINITY
    for (let i = waiting.length - 1; i >= 0; i--) {
      const wait = waiting[i] as (typeof waiting)[number]
      if (wait.dueMs > nowMs) {
        nextMs = Math.min(nextMs, wait.dueMs)
        continue
      }
      waiting.splice(i, 1)
      waits += 1
      lateMs += nowMs - wait.dueMs
      wait.resolve()
    }
    schedule(nextMs)
  }

  function schedule(dueMs: number) {
    if (turning || dueMs === Number.POSITIVE_INFINITY) return
    if (timer !== undefined) {
      if (timerDueMs <= dueMs) return
      clearTimeout(timer)
      timer = undefined
    }
    const nearMs = Math.floor(dueMs - performance.now() - timerErrorMs)
    if (nearMs >= 1) {
      timerDueMs = dueMs
      timer = setTimeout(pump, nearMs)
    } else {
      turning = true
      setImmediate(pump)
    }
  }

  return {
    wait(ms) {
      if (ms <= 0) return Promise.resolve()
      return new Promise((resolve) => {
        const dueMs = performance.now() + ms
        waiting.push({ dueMs, resolve })
        schedule(dueMs)
      })
    },
    lateness: () => ({ waits, meanMs: waits === 0 ? 0 : lateMs / waits }),
  }
}
