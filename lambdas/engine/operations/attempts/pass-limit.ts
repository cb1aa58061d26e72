import { NOTHING_CHANGED, QueueError } from '../../../foundation/errors.ts'
import { guard, type OwnedLimit, tellGuard } from '../../../rate/operations/guard.ts'
import { type Configuration, limitRevisionOf } from '../../core/configuration.ts'
import { patternsWalkKey, shardOf } from '../../core/keys.ts'
import { isGoodFor, type Pass } from '../../core/limit-pass.ts'
import type { QueueRecord } from '../../core/record.ts'
import { type Engine, readRecord } from './engine.ts'

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

/** Returns the limit of which it took a slot; none if the queue has no such limit any more. */
async function takeSlot(
  engine: Engine,
  call: Pick<LimitedCall, 'verb' | 'receivedMs'>,
  record: QueueRecord,
): Promise<Pass> {
  const { queue } = record
  const { verb, receivedMs } = call
  const owned = limitIn(record, verb)
  if (owned === undefined) return undefined
  const decision = await slotOf(engine, verb, queue, owned, receivedMs)
  if (decision === undefined) return undefined
  if (decision.kind === 'allowed') return decision.by
  const seenMs = engine.limitsSeenMs.get(record) ?? Number.NEGATIVE_INFINITY
  if (engine.clock.nowMs() - seenMs > LIMIT_TRUSTED_MS) {
    const current = await readRecord(engine, queue)
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

function limitIn(record: QueueRecord | undefined, verb: 'push' | 'pop'): OwnedLimit | undefined {
  if (record === undefined) return undefined
  return limitOf(record.configuration, verb)
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

/** The same before a push stores anything: goes by the remembered record, if there is one. */
export async function passKnownLimit(
  engine: Engine,
  queue: string,
  receivedMs: number | undefined,
): Promise<LimitedCall> {
  const record = engine.memory.get(queue)
  const call: LimitedCall = { verb: 'push', pass: undefined, receivedMs }
  if (record !== undefined) await passLimit(engine, call, record)
  return call
}

async function slotOf(
  engine: Engine,
  verb: 'push' | 'pop',
  queue: string,
  seen: OwnedLimit,
  receivedMs: number | undefined,
) {
  const look = async () => limitIn(await readRecord(engine, queue), verb)
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

/** A time that is in the past by every clock. */
export const DUE = 0

/** Asks for a walk: with a shard and a `checkAt` the sweeper meets the row like a queue whose time has come. */
export const askForWalk = {
  UpdateExpression: 'SET #s=:shard,checkAt=:due ADD a :one',
  ExpressionAttributeNames: { '#s': 'shard' },
  ExpressionAttributeValues: { ':shard': shardOf(patternsWalkKey.pk), ':due': DUE, ':one': 1 },
}
