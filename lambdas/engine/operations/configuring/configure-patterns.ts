import { QueueError } from '../../../foundation/errors.ts'
import { PATTERNS_KEPT_MS } from '../../../rate/core/bounds.ts'
import {
  type QueuePattern,
  type QueuePatternInput,
  type QueuePatterns,
  queuePatternsFrom,
} from '../../core/queue-patterns.ts'
import { encodeQueuePatterns, type QueuePatternsRow } from '../../store/queue-patterns-row.ts'
import type { DeployedPatterns } from '../../verbs.ts'
import { type Engine, newMark, pause } from '../attempts/engine.ts'
import { readQueuePatterns } from '../attempts/patterns.ts'

/** Patterns change by hand, now and then. */
const ATTEMPTS_MAX = 5
/**
 * The sweeper begins to walk when no process uses the patterns from before any more: each reads them anew
 * after half a minute by its clock. A quarter of a minute on top is for clocks that differ, and for an index
 * that learns of a new queue a moment late.
 */
const WALK_AFTER_MS = PATTERNS_KEPT_MS + 15_000

export async function queuePatterns(engine: Engine): Promise<QueuePatterns> {
  const { value } = await engine.patterns.get(engine.clock.nowMs())
  return patternsOf(value)
}

/** Replaces all patterns: what applies to a queue is then one list in one order, never half of two. */
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
    return { patterns, deployed: before.deployed }
  })
}

/**
 * Patterns that a deployment brings: they replace all others once, when the deployment has changed them. What
 * somebody put since holds until a deployment brings yet others.
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

type Change = { readonly patterns: readonly QueuePattern[]; readonly deployed: string | undefined }

/** `undefined`: they are to stay as they are. */
async function replace(
  engine: Engine,
  changeOf: (before: QueuePatternsRow) => Change | undefined,
): Promise<QueuePatterns> {
  const mark = newMark(engine)
  let lost: { readonly revision: number; readonly cause: unknown } | undefined
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const before = await look(engine, lost?.cause)
    if (lost !== undefined) {
      if (before.mark === mark) return patternsOf(before)
      // Others have gone on; from ours, or in its place.
      if (before.revision > lost.revision) throw inDoubt(lost.cause)
      // Others took its place, so it cannot land any more.
      if (before.revision === lost.revision) lost = undefined
    }
    const change = changeOf(before)
    if (change === undefined) return patternsOf(before)
    const after = { patterns: change.patterns, revision: before.revision + 1 }
    const written = await engine.dynamo.put({
      Item: encodeQueuePatterns(after, {
        walkAtMs: engine.clock.nowMs() + WALK_AFTER_MS,
        deployed: change.deployed,
        mark,
      }),
      ConditionExpression: before.revision === 0 ? 'attribute_not_exists(r)' : 'r=:seen',
      ...(before.revision > 0 && { ExpressionAttributeValues: { ':seen': before.revision } }),
    })
    engine.patterns.forget()
    if (written.kind === 'done') return after
    if (written.kind === 'unknown') lost = { revision: after.revision, cause: written.cause }
    await pause(engine, attempt)
  }
  if (lost !== undefined) throw inDoubt(lost.cause)
  throw new QueueError('BUSY', 'Cannot change the queues’ patterns because others do; try again')
}

/** Once an answer was lost, nobody knows what happened until somebody could look. */
async function look(engine: Engine, lost: unknown): Promise<QueuePatternsRow> {
  return readQueuePatterns(engine).catch((error: unknown) => {
    throw lost === undefined ? error : inDoubt(error)
  })
}

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
