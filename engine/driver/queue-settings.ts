// The settings of a queue, where a call needs them: its limit, of which each call takes one slot however many attempts
// it makes, and the patterns from which a queue's first record gets its settings. Both may change at any time. A call
// that took a slot of an outdated limit fails at its own write, which names the limit; a queue that was made without
// the newest patterns gets them from the next walk.

import type { Row } from '../../aws/dynamo.ts'
import { guard, type OwnedLimit, tellGuard } from '../../rate/decide.ts'
import { isDeadLetterQueue } from '../../shared/bounds.ts'
import { NOTHING_CHANGED, QueueError } from '../../shared/errors.ts'
import { patternsWalkKey, queuePatternsKey, shardOf } from '../core/keys.ts'
import type { QueueRecord } from '../core/record.ts'
import {
  type Configuration,
  configurationBy,
  decodeConfiguration,
  defaultConfiguration,
  encodeConfiguration,
  isGoodFor,
  limitRevisionOf,
  noQueuePatterns,
  type Pass,
  type QueuePatterns,
  type StoredConfiguration,
} from '../core/settings.ts'
import type { Engine } from './engine.ts'

/** How long a remembered limit may deny calls before we look again: a raised limit may go unnoticed for this long. */
const LIMIT_TRUSTED_MS = 10_000

const settings = { push: 'pushLimit', pop: 'popLimit' } as const

const fields = { push: 'push_limit', pop: 'pop_limit' } as const

/** A call that a queue's limit may count: once by each limit that it meets, however many attempts the call takes. */
export type LimitedCall = {
  readonly verb: 'push' | 'pop'
  pass: Pass
  /** When the gateway received the call; later by as much as the call has waited since. */
  receivedMs: number | undefined
}

/**
 * Takes a slot of the limit that the queue's configuration sets for such calls, if it sets one and the call
 * has no slot of that one yet. A full window is an error: the call pushes or pops nothing.
 */
export async function passLimit(
  engine: Engine,
  call: LimitedCall,
  record: QueueRecord,
): Promise<void> {
  if (isGoodFor(call.pass, record.configuration[settings[call.verb]])) return
  call.pass = await takeSlot(engine, call, record)
}

/** The same before a push stores anything: goes by the remembered record, if there is one. */
export async function passKnownLimit(
  engine: Engine,
  queue: string,
  receivedMs: number | undefined,
): Promise<LimitedCall> {
  const record = engine.records.recall(queue)
  const call: LimitedCall = { verb: 'push', pass: undefined, receivedMs }
  if (record !== undefined) await passLimit(engine, call, record)
  return call
}

/** Returns the limit of which it took a slot; none if the queue has no such limit any more. */
async function takeSlot(
  engine: Engine,
  call: Pick<LimitedCall, 'verb' | 'receivedMs'>,
  record: QueueRecord,
): Promise<Pass> {
  const { queue } = record
  const { verb, receivedMs } = call
  const owned = limitOf(record.configuration, verb)
  if (owned === undefined) return undefined
  const decision = await slotOf(engine, verb, queue, owned, receivedMs)
  if (decision === undefined) return undefined
  if (decision.kind === 'allowed') return decision.by
  const seenMs = engine.records.limitsSeenMs(record) ?? Number.NEGATIVE_INFINITY
  if (engine.clock.nowMs() - seenMs > LIMIT_TRUSTED_MS) {
    const current = await engine.records.read(queue)
    if (current === undefined || limitRevisionOf(current.configuration) !== owned.revision) {
      return current && takeSlot(engine, call, current)
    }
  }
  const { limit, windowMillis, retryAfterMs } = decision
  throw new QueueError(
    'RATE_LIMITED',
    `Cannot ${verb} because queue "${queue}" has a ${fields[verb]} of ${limit} in ${windowMillis} ms; try again in ${retryAfterMs} ms`,
    { retryAfterMs },
  )
}

async function slotOf(
  engine: Engine,
  verb: 'push' | 'pop',
  queue: string,
  seen: OwnedLimit,
  receivedMs: number | undefined,
) {
  const look = async () => {
    const current = await engine.records.read(queue)
    return current && limitOf(current.configuration, verb)
  }
  try {
    return await guard(engine.slots, verb, queue, { seen, look, receivedMs })
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    // A slot may be wasted, but nothing in the queue was touched.
    throw new QueueError(
      error.code,
      `Cannot ${verb} because the ${fields[verb]} of queue "${queue}" cannot be asked at the moment; ${NOTHING_CHANGED}`,
      { cause: error },
    )
  }
}

function limitOf(configuration: Configuration, verb: 'push' | 'pop'): OwnedLimit | undefined {
  const limit = configuration[settings[verb]]
  return limit && { limit, revision: limitRevisionOf(configuration) }
}

/**
 * After a change of the settings: tells the rows that count calls of other limits than before. This is a favour to the
 * next calls, so a failure does not matter: each call's own write finds out which limit there is.
 */
export async function tellLimits(
  engine: Engine,
  queue: string,
  before: Configuration,
  after: Configuration,
): Promise<void> {
  for (const verb of ['push', 'pop'] as const) {
    const [old, now] = [limitOf(before, verb), limitOf(after, verb)]
    if (old === undefined || now === undefined || isGoodFor(old.limit, now.limit)) continue
    await tellGuard(engine.slots, verb, queue, now).catch((error: unknown) => {
      engine.onBackgroundError(error, { queue, step: 'tell-limit' })
    })
  }
}

/** The patterns, and who put them. */
export type QueuePatternsRow = QueuePatterns & {
  /** The hash of the patterns that a deployment brought last. */
  readonly deployed?: string
  /** The mark of the call that put them; it decides a lost answer. */
  readonly mark: string
}

type StoredPattern = Omit<StoredConfiguration, 'v' | 's' | 'r'> & { readonly p: string }

type Stored = {
  readonly r: number
  readonly l: readonly StoredPattern[]
  readonly h?: string
  readonly m: string
}

const noRow: QueuePatternsRow = { ...noQueuePatterns, mark: '' }

export const encodeQueuePatterns = ({
  revision,
  patterns,
  deployed,
  mark,
}: QueuePatternsRow): Row => ({
  ...queuePatternsKey,
  r: revision,
  m: mark,
  l: storedPatterns(patterns),
  ...(deployed !== undefined && { h: deployed }),
})

export function decodeQueuePatterns(row: Row | undefined): QueuePatternsRow {
  if (row === undefined) return noRow
  const { r, l, h, m } = row as Stored
  return {
    revision: r,
    patterns: l.map(({ p, ...stored }) => {
      const { revision: _, source: __, ...settings } = decodeConfiguration({ v: 0, ...stored })
      return { prefix: p, settings }
    }),
    mark: m,
    ...(h !== undefined && { deployed: h }),
  }
}

const storedPatterns = (patterns: QueuePatterns['patterns']): StoredPattern[] =>
  patterns.map(({ prefix, settings }) => {
    const { v: _, ...stored } = encodeConfiguration({
      ...settings,
      revision: 0,
      source: { from: 'queue' },
    })
    return { p: prefix, ...stored }
  })

/** Whether both lists have the same patterns, in any order. */
export const areSamePatterns = (
  one: QueuePatterns['patterns'],
  other: QueuePatterns['patterns'],
): boolean => textOf(one) === textOf(other)

const textOf = (patterns: QueuePatterns['patterns']): string =>
  storedPatterns(patterns)
    .map((pattern) => JSON.stringify(pattern))
    .sort()
    .join()

export const readQueuePatterns = async (
  engine: Pick<Engine, 'dynamo'>,
): Promise<QueuePatternsRow> => decodeQueuePatterns(await engine.dynamo.get(queuePatternsKey, true))

/** A time that is in the past by every clock. */
export const DUE = 0

/** Asks for a walk: with a shard and a `checkAt` the sweeper meets the row like a queue whose time has come. */
export const askForWalk = {
  UpdateExpression: 'SET #s=:shard,checkAt=:due ADD a :one',
  ExpressionAttributeNames: { '#s': 'shard' },
  ExpressionAttributeValues: { ':shard': shardOf(patternsWalkKey.pk), ':due': DUE, ':one': 1 },
}

/**
 * The settings for a queue's first record. Only here does a push read the patterns, and a process reads them at
 * most twice a minute: an existing queue has its settings in its record.
 */
export async function firstConfiguration(engine: Engine, queue: string): Promise<Configuration> {
  if (isDeadLetterQueue(queue)) return defaultConfiguration
  return configurationBy(await patternsAsKnown(engine, queue), queue)
}

/**
 * If one row cannot be read, that must not keep everybody from making queues. We then use the patterns that this
 * process read last, if any, and ask for a walk, which will correct the queues made meanwhile.
 */
export async function patternsAsKnown(engine: Engine, queue: string): Promise<QueuePatterns> {
  try {
    return (await engine.patterns.get()).value
  } catch (error) {
    engine.onBackgroundError(error, { queue, step: 'read-patterns' })
    // If there never were patterns, there is nothing to apply.
    const ask = { ...askForWalk, ConditionExpression: 'attribute_exists(a)' }
    await engine.dynamo.update(patternsWalkKey, ask).catch((refused: unknown) => {
      engine.onBackgroundError(refused, { queue, step: 'ask-for-patterns' })
    })
    return engine.patterns.last ?? noQueuePatterns
  }
}

/** The settings that a push would now give a queue without a record. Only answers questions. */
export async function configurationByNow(engine: Engine, queue: string): Promise<Configuration> {
  if (isDeadLetterQueue(queue)) return defaultConfiguration
  return configurationBy(await patternsByNow(engine), queue)
}

/** The patterns as they are now. */
export const patternsByNow = async (engine: Engine): Promise<QueuePatterns> =>
  (await engine.patterns.get(engine.clock.nowMs())).value
