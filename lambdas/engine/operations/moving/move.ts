import { QueueError } from '../../../foundation/errors.ts'
import { appendOf, obstacleTo } from '../../core/append.ts'
import { isReference } from '../../core/entry.ts'
import type { FencedChange } from '../../core/fence.ts'
import { recordKey } from '../../core/keys.ts'
import { INLINE_BYTES_MAX } from '../../core/limits.ts'
import { appendUpdate } from '../../store/append-update.ts'
import { type CommittedBeside, commitBeside } from '../attempts/commit.ts'
import { type Engine, readRecord, remindAtMs, seen, tailLimits } from '../attempts/engine.ts'
import { byReference, discardBatch } from '../lanes/entries.ts'
import { ensureLane } from '../lanes/lanes.ts'
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
    throw cannotMove(change.before.queue, to, priority, error)
  })
}

/** Names both queues: the caller knows only the one it asked for, not the one that is in the way. */
function cannotMove(from: string, to: string, priority: number, error: unknown): unknown {
  if (!(error instanceof QueueError)) return error
  const { code, message, outcome } = error
  return new QueueError(
    code,
    `Cannot move items of priority ${priority} from queue "${from}" to "${to}": ${message}`,
    { cause: error, outcome },
  )
}

/** The fenced write, and in one transaction with it an append to another queue. */
export async function moveLanesBeside(
  engine: Engine,
  change: FencedChange,
  to: string,
  lanes: ReadonlyMap<number, readonly string[]>,
): Promise<CommittedBeside> {
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
        ...appendUpdate(addition, limits, { anyway: true, remindAtMs: remindAtMs(engine) }),
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      },
    },
  ]
  const committed = await commitBeside(engine, change, beside)
  engine.memory.delete(to)
  if (committed.kind === 'committed') return committed
  // Refused for certain, and the batch's id is ours alone: nothing will ever refer to it.
  for (const entry of [...addition.lanes.values()].flat()) {
    if (isReference(entry)) await discardBatch(engine, to, entry)
  }
  if (committed.kind === 'blocked') {
    const target = seen(engine, to, committed.row) ?? (await readRecord(engine, to))
    // Capacity does not count here, and must not hide that the tail is full.
    const obstacle = obstacleTo({ ...addition, items: 0 }, target, limits)
    if (target !== undefined && obstacle.kind === 'tail-full') await seal(engine, target)
  }
  return committed
}
