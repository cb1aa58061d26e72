import type { Row, Transacted, Written } from '../../../foundation/dynamo.ts'
import type { FencedChange } from '../../core/fence.ts'
import { recordKey } from '../../core/keys.ts'
import { markAfter, type QueueRecord } from '../../core/record.ts'
import { fencedUpdate } from '../../store/fenced-update.ts'
import { type Engine, outcomeUnknown, readInDoubt, seen, seenInDoubt } from './engine.ts'

type Committed =
  | { readonly kind: 'committed'; readonly record: QueueRecord }
  /** Another writer was first: this is the record it left. */
  | { readonly kind: 'lost'; readonly current: QueueRecord | undefined }

export type CommittedBeside =
  /** DynamoDB does not return what a transaction wrote, so the record is here only if we have read it. */
  | { readonly kind: 'committed'; readonly record: QueueRecord | undefined }
  | Extract<Committed, { kind: 'lost' }>
  /** DynamoDB refused another entry of the transaction than the record's; `row` is the item it met. */
  | { readonly kind: 'blocked'; readonly row: Row | undefined }

/** How often we send one fenced write whose answers get lost; after that, the store is out of reach. */
const SENDINGS_MAX = 4
const RESEND_AFTER_MS = 50

/** Writes a fenced change. `eager`: do not back off while the store throttles. */
export async function commit(
  engine: Engine,
  change: FencedChange,
  { eager = false }: { readonly eager?: boolean } = {},
): Promise<Committed> {
  const key = recordKey(change.before.queue)
  const expressions = fencedUpdate(change)
  const committed = await settled(engine, change, () =>
    engine.dynamo.update(key, expressions, eager),
  )
  // A single update always returns the record, and has no other entry that could block it.
  return committed as Committed
}

/** Writes a fenced change and the rows beside it in one transaction. */
export async function commitBeside(
  engine: Engine,
  change: FencedChange,
  beside: readonly Row[],
): Promise<CommittedBeside> {
  const { queue } = change.before
  const own = {
    Update: {
      TableName: engine.dynamo.tableName,
      Key: recordKey(queue),
      ...fencedUpdate(change),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    },
  }
  return settled(engine, change, async () => {
    engine.memory.delete(queue)
    const items = [own, ...beside] as never
    return sentOf(await engine.dynamo.transact({ TransactItems: items }))
  })
}

/**
 * If an answer is lost, looks for the mark that the write would have left (rule 5). If the mark is there,
 * the write happened. If another mark is in its place, it did not happen and never can, because the version
 * has moved on. While the version has not moved, we send the very same request again: however many copies
 * are on their way, only one of them can ever find that version.
 */
async function settled(
  engine: Engine,
  change: FencedChange,
  send: () => Promise<Sent>,
): Promise<CommittedBeside> {
  const { queue } = change.before
  let cause: unknown
  for (let sending = 1; sending <= SENDINGS_MAX; sending += 1) {
    const first = sending === 1
    const sent = await send().catch((error: unknown) => {
      throw first ? error : outcomeUnknown(queue, error)
    })
    if (sent.kind === 'done') {
      const record = sent.row && seen(engine, queue, sent.row)
      stillAlone(engine, change.before, record)
      return { kind: 'committed', record }
    }
    if (sent.kind === 'blocked') {
      // This sending did nothing; an earlier one may have done all of it.
      return first ? sent : await settleDoubt(engine, change, sent.row)
    }
    let current: QueueRecord | undefined
    if (sent.kind === 'failed') {
      if (first) return { kind: 'lost', current: seen(engine, queue, sent.row) }
      current = seenInDoubt(engine, queue, sent.row)
    } else {
      cause = sent.cause
      await engine.clock.sleep(RESEND_AFTER_MS * (sending - 0.5))
      current = await readInDoubt(engine, queue)
    }
    const verdict = verdictOn(change, current)
    if (verdict.kind !== 'open') return committedBy(verdict, queue, cause)
    // The version has not moved, so another guard refused it: an earlier sending may still land.
    if (sent.kind === 'failed') break
  }
  throw outcomeUnknown(queue, cause)
}

async function settleDoubt(
  engine: Engine,
  change: FencedChange,
  item: Row | undefined,
): Promise<CommittedBeside> {
  const { queue } = change.before
  const verdict = verdictOn(change, await readInDoubt(engine, queue))
  return committedBy(
    verdict,
    queue,
    new Error(`Refused while an earlier sending is open: ${item !== undefined}`),
  )
}

/** What a record says about a write whose answer was lost. */
type Verdict =
  | { readonly kind: 'happened'; readonly record: QueueRecord }
  | { readonly kind: 'never'; readonly current: QueueRecord }
  /** The version is still the one that the write expects, so it may still land. */
  | { readonly kind: 'open' }
  | { readonly kind: 'unknowable' }

function verdictOn(change: FencedChange, current: QueueRecord | undefined): Verdict {
  const { before } = change
  if (current === undefined || current.born !== before.born) return { kind: 'unknowable' }
  if (current.version === before.version) return { kind: 'open' }
  const mark = markAfter(current, before.version)
  if (mark === undefined) return { kind: 'unknowable' }
  return mark === change.mark ? { kind: 'happened', record: current } : { kind: 'never', current }
}

function committedBy(verdict: Verdict, queue: string, cause: unknown): CommittedBeside {
  if (verdict.kind === 'happened') return { kind: 'committed', record: verdict.record }
  if (verdict.kind === 'never') return { kind: 'lost', current: verdict.current }
  throw outcomeUnknown(queue, cause)
}

/** A producer may pop as well: our own writes do not count as another producer's. */
function stillAlone(engine: Engine, before: QueueRecord, after: QueueRecord | undefined): void {
  if (after === undefined || !engine.alone.has(before)) return
  if (after.appends === before.appends) engine.alone.add(after)
}

type Sent = Written | { readonly kind: 'blocked'; readonly row: Row | undefined }

function sentOf(transacted: Transacted): Sent {
  if (transacted.kind === 'done') return { kind: 'done', row: undefined }
  if (transacted.kind === 'unknown') return transacted
  const own = transacted.reasons[0]
  if (own?.failed) return { kind: 'failed', row: own.row }
  return { kind: 'blocked', row: transacted.reasons.find(({ failed }) => failed)?.row }
}
