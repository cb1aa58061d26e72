import { QueueError } from '../../../foundation/errors.ts'
import { type Append, appendOf, obstacleTo } from '../../core/append.ts'
import type { FencedChange } from '../../core/fence.ts'
import { recordKey } from '../../core/keys.ts'
import { INLINE_BYTES_MAX } from '../../core/limits.ts'
import type { QueueRecord } from '../../core/record.ts'
import { appendUpdate } from '../../store/append-update.ts'
import { type CommittedBeside, commitBeside } from '../attempts/commit.ts'
import { type Engine, readRecord, remindAtMs, seen, tailLimits } from '../attempts/engine.ts'
import { byReference, discardBatches, discardUnlessOpen } from '../lanes/entries.ts'
import { checkLanesFit, ensureLane } from '../lanes/lanes.ts'
import { queueFull } from '../lanes/queue-full.ts'
import { seal } from '../lanes/seal.ts'

/**
 * Moves items from one queue's record to another's: the fenced write that settles them here and
 * the append there are one transaction, so that an item is never in both and never in neither.
 * Twice the price of a plain write, and rare.
 */
export async function move(
  engine: Engine,
  change: FencedChange,
  to: string,
  priority: number,
  entries: readonly string[],
): Promise<CommittedBeside> {
  const lanes = new Map([[priority, entries]])
  return moveLanesBeside(engine, change, to, lanes).catch((error: unknown) => {
    throw cannotMove(`items of priority ${priority}`, change.before.queue, to, error)
  })
}

/** The error names both queues: the caller asked for one, but the other may be in the way. */
export function cannotMove(what: string, from: string, to: string, error: unknown): unknown {
  if (!(error instanceof QueueError)) return error
  const { code, message, outcome, retryable } = error
  return new QueueError(code, `Cannot move ${what} from queue "${from}" to "${to}": ${message}`, {
    cause: error,
    outcome,
    ...(!retryable && { isFinal: true }),
  })
}

type MakeRoom = (
  engine: Engine,
  record: QueueRecord,
  items: number,
) => Promise<QueueRecord | undefined>

/**
 * Sends the fenced write and, in the same transaction, an append to another queue: `addition`. That queue's capacity
 * counts only for items that are new to it; their caller says how to make room.
 */
export async function moveLanesBeside(
  engine: Engine,
  change: FencedChange,
  to: string,
  lanes: ReadonlyMap<number, readonly string[]>,
  { makeRoom }: { readonly makeRoom?: MakeRoom } = {},
): Promise<CommittedBeside & { readonly addition: Append }> {
  const inline = appendOf(lanes)
  for (const priority of lanes.keys()) await ensureLane(engine, to, priority)
  const addition =
    inline.bytes <= INLINE_BYTES_MAX ? inline : await byReference(engine, to, inline.lanes)
  const limits = tailLimits(engine)
  const beside = [
    {
      Update: {
        TableName: engine.dynamo.tableName,
        Key: recordKey(to),
        ...appendUpdate(addition, limits, {
          anyway: makeRoom === undefined,
          pass: 'free',
          remindAtMs: remindAtMs(engine),
        }),
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      },
    },
  ]
  const committed = await commitBeside(engine, change, beside).catch(async (error: unknown) => {
    await discardUnlessOpen(engine, to, addition, error)
    throw error
  })
  engine.memory.delete(to)
  if (committed.kind === 'committed') return { ...committed, addition }
  // The write was certainly refused, and only we know the batch's id: nothing will ever refer to it.
  await discardBatches(engine, to, addition)
  if (committed.kind === 'blocked') {
    const target = seen(engine, to, committed.row) ?? (await readRecord(engine, to))
    // If capacity does not count, a full queue must not hide that the tail is full.
    const items = makeRoom === undefined ? 0 : addition.items
    const obstacle = obstacleTo({ ...addition, items }, target, limits)
    if (target !== undefined) checkLanesFit(target, lanes.keys())
    if (target !== undefined && obstacle.kind === 'tail-full') await seal(engine, target)
    if (target !== undefined && obstacle.kind === 'full') {
      const now = await makeRoom?.(engine, target, items)
      if (now !== undefined && now.room < items) throw queueFull(now, items)
    }
  }
  return { ...committed, addition }
}
