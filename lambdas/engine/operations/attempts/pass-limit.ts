import { NOTHING_CHANGED, QueueError } from '../../../foundation/errors.ts'
import { guard, type OwnedLimit } from '../../../rate/operations/guard.ts'
import { limitRevisionOf } from '../../core/configuration.ts'
import type { QueueRecord } from '../../core/record.ts'
import { type Engine, readRecord } from './engine.ts'

/** How long a remembered limit may deny calls before we look again: a raised limit may go unnoticed for this long. */
const LIMIT_TRUSTED_MS = 10_000

const settings = { push: 'pushLimit', pop: 'popLimit' } as const
const fields = { push: 'push_limit', pop: 'pop_limit' } as const

/** A call that a queue's limit may count, but only once, however many attempts the call takes. */
export type LimitedCall = {
  readonly verb: 'push' | 'pop'
  /** It has taken its slot. */
  hasSlot: boolean
  /** When the gateway received the call; later by as much as the call has waited since. */
  receivedMs: number | undefined
}

/**
 * Takes a slot of the limit that the queue's configuration sets for such calls, if it sets one and the call
 * has no slot yet. A full window is an error: the call pushes or pops nothing.
 */
export async function passLimit(
  engine: Engine,
  call: LimitedCall,
  record: QueueRecord,
): Promise<void> {
  if (!call.hasSlot) call.hasSlot = await takesSlot(engine, call, record)
}

/** Takes no slot if the queue has no such limit. */
async function takesSlot(
  engine: Engine,
  call: Pick<LimitedCall, 'verb' | 'receivedMs'>,
  record: QueueRecord,
): Promise<boolean> {
  const { queue } = record
  const { verb, receivedMs } = call
  const owned = limitIn(record, verb)
  if (owned === undefined) return false
  const decision = await slotOf(engine, verb, queue, owned, receivedMs)
  if (decision === undefined) return false
  if (decision.kind === 'allowed') return true
  const seenMs = engine.limitsSeenMs.get(record) ?? Number.NEGATIVE_INFINITY
  if (engine.clock.nowMs() - seenMs > LIMIT_TRUSTED_MS) {
    const current = await readRecord(engine, queue)
    if (current === undefined || limitRevisionOf(current.configuration) !== owned.revision) {
      return current !== undefined && takesSlot(engine, call, current)
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
  const { configuration } = record
  const limit = configuration[settings[verb]]
  return limit && { limit, revision: limitRevisionOf(configuration) }
}

/** The same before a push stores anything: goes by the remembered record, if there is one. */
export async function passKnownLimit(
  engine: Engine,
  queue: string,
  receivedMs: number | undefined,
): Promise<LimitedCall> {
  const record = engine.memory.get(queue)
  const call: LimitedCall = { verb: 'push', hasSlot: false, receivedMs }
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
