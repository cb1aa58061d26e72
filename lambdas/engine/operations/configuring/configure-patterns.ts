import type { Transacted } from '../../../foundation/dynamo.ts'
import { QueueError } from '../../../foundation/errors.ts'
import { present } from '../../../foundation/shared/present.ts'
import { patternsWalkKey } from '../../core/keys.ts'
import {
  type QueuePattern,
  type QueuePatternInput,
  type QueuePatterns,
  queuePatternsFrom,
} from '../../core/queue-patterns.ts'
import {
  areSamePatterns,
  encodeQueuePatterns,
  type QueuePatternsRow,
} from '../../store/queue-patterns-row.ts'
import type { DeployedPatterns } from '../../verbs.ts'
import { type Engine, newMark, pause } from '../attempts/engine.ts'
import { askForWalk } from '../attempts/pass-limit.ts'
import { readQueuePatterns } from '../attempts/patterns.ts'

/** Patterns change by hand, now and then. */
const ATTEMPTS_MAX = 5

export async function queuePatterns(engine: Engine): Promise<QueuePatterns> {
  const { value } = await engine.patterns.get(engine.clock.nowMs())
  return patternsOf(value)
}

/** Replaces all patterns at once, so that one list always applies to a queue, never a mix of two. */
export async function configureQueuePatterns(
  engine: Engine,
  inputs: readonly QueuePatternInput[],
  { ifMatch }: { readonly ifMatch?: number | undefined } = {},
): Promise<QueuePatterns> {
  const patterns = queuePatternsFrom(inputs)
  return replace(engine, (before) => {
    if (ifMatch !== undefined && ifMatch !== before.revision) {
      throw mismatch(before.revision, ifMatch)
    }
    return present({ patterns, deployed: before.deployed })
  })
}

/**
 * A deployment's patterns replace all others once, when the deployment has changed them. If somebody puts other
 * patterns after that, these hold until a deployment brings new ones.
 */
export async function deployQueuePatterns(
  engine: Engine,
  inputs: readonly QueuePatternInput[],
  hash: string,
): Promise<DeployedPatterns> {
  const patterns = queuePatternsFrom(inputs)
  let replaced: QueuePatterns | undefined
  const after = await replace(engine, (before) => {
    if (before.deployed === hash) return undefined
    replaced = patternsOf(before)
    return { patterns, deployed: hash }
  })
  return { ...after, ...(replaced !== undefined && { replaced }) }
}

type Change = { readonly patterns: readonly QueuePattern[]; readonly deployed?: string }

/** `changeOf` returns `undefined` if the patterns should stay as they are. */
async function replace(
  engine: Engine,
  changeOf: (before: QueuePatternsRow) => Change | undefined,
): Promise<QueuePatterns> {
  const mark = newMark(engine)
  let lost: { readonly revision: number; readonly cause: unknown } | undefined
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const before = await inDoubtOnceLost(readQueuePatterns(engine), lost)
    if (lost !== undefined) {
      if (before.mark === mark) return patternsOf(before)
      // Others have written since: after our write, or in its place; we cannot tell.
      if (before.revision > lost.revision) throw inDoubt(lost.cause)
      // Another write took its place, so ours cannot land any more.
      if (before.revision === lost.revision) lost = undefined
    }
    const change = changeOf(before)
    if (change === undefined || isAsBefore(change, before)) return patternsOf(before)
    const after = { patterns: change.patterns, revision: before.revision + 1 }
    const sent = write(engine, before.revision, { ...after, ...change, mark })
    const written = await inDoubtOnceLost(sent, lost)
    engine.patterns.forget()
    if (written.kind === 'done') return after
    if (written.kind === 'unknown') lost = { revision: after.revision, cause: written.cause }
    await pause(engine, attempt)
  }
  if (lost !== undefined) throw inDoubt(lost.cause)
  throw new QueueError('BUSY', 'Cannot change the queues’ patterns because others do; try again')
}

/** If so, we write nothing: a caller who puts the same patterns again and again causes no walk. */
const isAsBefore = (change: Change, { revision, patterns, deployed }: QueuePatternsRow): boolean =>
  revision > 0 && change.deployed === deployed && areSamePatterns(change.patterns, patterns)

/** Writes the patterns and the request for the walk that applies them: both or neither. */
function write(engine: Engine, seen: number, row: QueuePatternsRow): Promise<Transacted> {
  const { dynamo } = engine
  const TableName = dynamo.tableName
  const Put = {
    TableName,
    Item: encodeQueuePatterns(row),
    ConditionExpression: seen === 0 ? 'attribute_not_exists(r)' : 'r=:seen',
    ...(seen > 0 && { ExpressionAttributeValues: { ':seen': seen } }),
  }
  return dynamo.transact({
    TransactItems: [{ Put }, { Update: { TableName, Key: patternsWalkKey, ...askForWalk } }],
  })
}

/** Once an answer was lost, we do not know what happened until we have read the row; a later refusal does not tell. */
const inDoubtOnceLost = <T>(sent: Promise<T>, lost: object | undefined): Promise<T> =>
  sent.catch((error: unknown) => {
    throw lost === undefined ? error : inDoubt(error)
  })

const patternsOf = ({ patterns, revision }: QueuePatterns): QueuePatterns => ({
  patterns,
  revision,
})

const inDoubt = (cause: unknown): QueueError =>
  new QueueError(
    'STORE_UNAVAILABLE',
    "Cannot tell whether the queues' patterns were changed, because the store's answer was lost",
    { outcome: 'unknown', cause },
  )

const mismatch = (revision: number, ifMatch: number): QueueError =>
  new QueueError(
    'VERSION_MISMATCH',
    `Cannot change the queues' patterns because they are at revision ${revision}, not ${ifMatch}`,
    { field: 'If-Match' },
  )
