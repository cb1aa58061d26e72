// TransactWriteItems: all or nothing, once for each token.

import type { TransactWriteCommandInput, TransactWriteCommandOutput } from '@aws-sdk/lib-dynamodb'

import {
  addCharges,
  type Charge,
  consumedCapacity,
  type Database,
  noIndexes,
  readUnits,
} from './database.ts'
import {
  type CancellationReason,
  conditionFailedMessage,
  conflictReason,
  ItemError,
  idempotentParameterMismatch,
  isValidationError,
  transactionCanceled,
  transactionInProgress,
  validationError,
} from './errors.ts'
import { metadata } from './item-requests.ts'
import { itemSize, textBytes } from './values.ts'
import {
  type PreparedWrite,
  planWrite,
  prepareCheck,
  prepareDelete,
  preparePut,
  prepareUpdate,
  type WritePlan,
} from './writes.ts'

const actionsMax = 100
const payloadBytesMax = 4 * 1024 * 1024
const tokenLengthMax = 36
const tokenLivesMs = 10 * 60 * 1000

type Action = NonNullable<TransactWriteCommandInput['TransactItems']>[number]

interface Remembered {
  readonly body: string
  readonly untilMs: number
  readonly itemBytes: number
}

/** Transactions, and the tokens of those of the last ten minutes. */
export class Transactions {
  private readonly database: Database
  private readonly byToken = new Map<string, Remembered>()
  /** The tokens of those that have begun. */
  private readonly atWork = new Set<string>()

  constructor(database: Database) {
    this.database = database
  }

  /** Carries out a whole transaction at once. */
  write(input: TransactWriteCommandInput): TransactWriteCommandOutput {
    return this.begin(input)()
  }

  /**
   * Works in two steps, like DynamoDB: it checks all conditions and reserves the items, and writes some milliseconds
   * later. Returns the second step. In between, the store refuses every other write of one of the items, and reads see
   * the old values.
   */
  begin(input: TransactWriteCommandInput): () => TransactWriteCommandOutput {
    const { database } = this
    const actions = input.TransactItems ?? []
    if (actions.length === 0 || actions.length > actionsMax) {
      throw validationError(
        `Member must have length between 1 and ${actionsMax}: transactItems has ${actions.length}`,
      )
    }
    checkToken(input.ClientRequestToken)
    const prepared = prepareActions(database, actions)
    refuseSameItem(prepared)
    if (payloadBytes(actions, prepared) > payloadBytesMax) {
      throw validationError('Transaction payload size cannot exceed 4194304 bytes')
    }
    const replayed = this.replay(input)
    if (replayed !== undefined) return () => this.answerReplay(input, replayed)
    const token = input.ClientRequestToken
    if (token !== undefined && this.atWork.has(token)) throw transactionInProgress()

    const plans = this.plan(prepared)
    const letGo = database.hold(prepared.map(({ key }) => key))
    if (token !== undefined) this.atWork.add(token)
    return () => {
      letGo()
      if (token !== undefined) this.atWork.delete(token)
      const itemBytes = plans.reduce((sum, plan) => sum + bytesOf(plan), 0)
      const charges = plans.map((plan, i) => {
        if (plan.kind !== 'write') throw new Error('a refused action was not cancelled')
        const { key } = prepared[i] as PreparedWrite
        return database.commit(key, plan, 2)
      })
      this.remember(input, itemBytes)
      return this.answer(input, addCharges(charges))
    }
  }

  private plan(prepared: readonly PreparedWrite[]): WritePlan[] {
    const plans: WritePlan[] = []
    const reasons: CancellationReason[] = []
    for (const write of prepared) {
      const { plan, reason } = this.planOne(write)
      if (plan !== undefined) plans.push(plan)
      reasons.push(reason)
    }
    if (reasons.every((reason) => reason.Code === 'None')) return plans
    for (const { key } of prepared) {
      this.database.chargeRefused(key, this.database.stored(key), 2)
    }
    throw transactionCanceled(reasons)
  }

  private planOne(write: PreparedWrite): {
    readonly plan: WritePlan | undefined
    readonly reason: CancellationReason
  } {
    const { database } = this
    if (database.isHeld(write.key) || database.isBusy(write.key)) {
      return { plan: undefined, reason: conflictReason }
    }
    const current = database.stored(write.key)
    if (!database.admitsWrite(write.key)) {
      return { plan: undefined, reason: throttledReason }
    }
    try {
      const plan = planWrite(write, current, database.shape)
      if (plan.kind === 'write') return { plan, reason: { Code: 'None' } }
      const item = write.returnsItemOnFailure ? current.item : undefined
      const Message = conditionFailedMessage
      return { plan, reason: { Code: 'ConditionalCheckFailed', Message, item } }
    } catch (error) {
      if (!isValidationError(error)) throw error
      return { plan: undefined, reason: { Code: 'ValidationError', Message: error.message } }
    }
  }

  private replay(input: TransactWriteCommandInput): Remembered | undefined {
    const token = input.ClientRequestToken
    if (token === undefined) return undefined
    const known = this.byToken.get(token)
    if (known === undefined || known.untilMs <= this.database.nowMs()) return undefined
    if (known.body !== bodyOf(input)) throw idempotentParameterMismatch()
    return known
  }

  private remember(input: TransactWriteCommandInput, itemBytes: number): void {
    const token = input.ClientRequestToken
    if (token === undefined) return
    const nowMs = this.database.nowMs()
    for (const [old, { untilMs }] of this.byToken) {
      if (untilMs > nowMs) break
      this.byToken.delete(old)
    }
    const untilMs = nowMs + tokenLivesMs
    this.byToken.set(token, { body: bodyOf(input), untilMs, itemBytes })
  }

  /** A replay writes nothing and is billed as a transactional read of the items. */
  private answerReplay(
    input: TransactWriteCommandInput,
    { itemBytes }: Remembered,
  ): TransactWriteCommandOutput {
    const units = 2 * readUnits(itemBytes, true)
    this.database.chargeRead(units)
    return this.answer(input, { table: units, indexes: noIndexes })
  }

  private answer(input: TransactWriteCommandInput, charge: Charge): TransactWriteCommandOutput {
    const output: TransactWriteCommandOutput = { $metadata: metadata }
    const { name } = this.database.shape
    const capacity = consumedCapacity(name, charge, input.ReturnConsumedCapacity)
    if (capacity !== undefined) output.ConsumedCapacity = [capacity]
    return output
  }
}

const throttledReason: CancellationReason = {
  Code: 'ProvisionedThroughputExceeded',
  Message: 'The level of configured provisioned throughput for the table was exceeded.',
}

function checkToken(token: string | undefined): void {
  if (token === undefined || (token.length >= 1 && token.length <= tokenLengthMax)) return
  throw validationError(
    `1 validation error detected: ClientRequestToken must have 1 to ${tokenLengthMax} characters`,
  )
}

/** An item that does not fit the schema cancels the transaction. DynamoDB names only the first and tries no condition. */
function prepareActions(database: Database, actions: readonly Action[]): PreparedWrite[] {
  return actions.map((action, at) => {
    try {
      return prepareAction(database, action)
    } catch (error) {
      if (!(error instanceof ItemError)) throw error
      const reason = { Code: 'ValidationError', Message: error.message }
      throw transactionCanceled(
        actions.map((_action, i) => (i === at ? reason : { Code: 'None' as const })),
      )
    }
  })
}

/** The limit is on the request, not on the items it changes. */
function payloadBytes(actions: readonly Action[], prepared: readonly PreparedWrite[]): number {
  let bytes = 0
  prepared.forEach(({ key, change, values }, i) => {
    bytes += change.kind === 'put' ? change.size : textBytes(key.pk) + textBytes(key.sk)
    bytes += itemSize(values) + textBytes(actions[i]?.Update?.UpdateExpression ?? '')
  })
  return bytes
}

function prepareAction(database: Database, action: Action): PreparedWrite {
  const given = Object.values(action).filter((one) => one !== undefined)
  if (given.length !== 1) {
    throw validationError('TransactItems can only contain one of Check, Put, Update or Delete')
  }
  const { Put, Update, Delete, ConditionCheck } = action
  const { shape } = database
  database.requireTable((Put ?? Update ?? Delete ?? ConditionCheck)?.TableName)
  if (Put !== undefined) return preparePut(Put, shape)
  if (Delete !== undefined) return prepareDelete(Delete)
  if (ConditionCheck !== undefined) return prepareCheck(ConditionCheck)
  if (Update?.UpdateExpression === undefined) {
    throw validationError('The parameter UpdateExpression is required')
  }
  return prepareUpdate(Update)
}

function refuseSameItem(prepared: readonly PreparedWrite[]): void {
  const seen = new Set(prepared.map(({ key }) => JSON.stringify([key.pk, key.sk])))
  if (seen.size !== prepared.length) {
    throw validationError('Transaction request cannot include multiple operations on one item')
  }
}

function bytesOf(plan: WritePlan): number {
  return plan.kind === 'write' ? Math.max(plan.old.size, plan.next.size) : 0
}

function bodyOf(input: TransactWriteCommandInput): string {
  return JSON.stringify(input.TransactItems, (_name, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
  )
}
