import { cancellationReasons } from '../../../foundation/cancellation.ts'
import type { Row } from '../../../foundation/dynamo.ts'
import { failureOf } from '../../../foundation/outcome.ts'
import { recordKey } from '../../core/keys.ts'
import type { PushItem, TransactItem } from '../../verbs.ts'
import { busy, type Engine, outcomeUnknown, pause, readRecord } from '../attempts/engine.ts'
import { type Entry, makeEntry } from './transact-item.ts'

/** Each is a transaction of the caller's, and a new entry or the same once more. */
const ATTEMPTS_MAX = 8

export type SendEntries<T> = (entries: readonly TransactItem[]) => Promise<T>

/**
 * Pushes the items in the caller's own transaction, which `send` sends with the entries it is given. What
 * is in the queue's way is tried again: its tail was full, its lane is gone, another transaction was at
 * work. What is the caller's own, such as a condition that did not hold, is thrown as it came. After a lost
 * answer the same entry is sent again, for it passes once: then it is known whether the first one did.
 * Answers nothing where it did, because its own answer is lost.
 */
export async function transact<T>(
  engine: Engine,
  queue: string,
  items: readonly PushItem[],
  send: SendEntries<T>,
): Promise<T | undefined> {
  let made: Entry | undefined
  let doubt: { readonly cause: unknown } | undefined
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (attempt > 1) await pause(engine, attempt)
    made ??= await makeEntry(engine, queue, items)
    try {
      return await send([made.entry])
    } catch (error) {
      const fate = await fateOf(engine, queue, made, error)
      if (fate === 'carried out') return undefined
      if (fate === 'unknown') doubt ??= { cause: error }
      if (fate === 'not ours') throw doubt === undefined ? error : outcomeUnknown(queue, error)
      // If a first copy may still land, or has, another entry would be the same items twice.
      if (doubt === undefined && (fate === 'in the way' || fate === 'out of memory'))
        made = undefined
    }
  }
  throw doubt === undefined ? busy(queue) : outcomeUnknown(queue, doubt.cause)
}

type Fate =
  | 'carried out'
  /** The answer is lost. */
  | 'unknown'
  /** Refused because of the queue: a new entry may pass. */
  | 'in the way'
  /** The same, but the record no longer tells whether it had passed before. */
  | 'out of memory'
  /** Refused because somebody is at work on one of the rows: the same may pass in a moment. */
  | 'busy'
  | 'not ours'

async function fateOf(engine: Engine, queue: string, made: Entry, error: unknown): Promise<Fate> {
  // What the caller's own code throws went through no client of the SDK.
  if (!(error instanceof Error) || !('$metadata' in error)) return 'not ours'
  const failure = failureOf(error)
  if (failure === 'unknown') return 'unknown'
  if (failure === 'unsent' || failure === 'throttled' || failure === 'conflict') return 'busy'
  if (failure !== 'cancelled') return 'not ours'
  const refused = refusedRows(error)
  if (refused === undefined) return 'not ours'
  if (refused.length === 0) return 'busy'
  const { pk, sk } = recordKey(queue)
  const ours = refused.find((row) => row?.pk === pk && row.sk === sk)
  if (ours !== undefined) return fateBy(ours, made)
  // A record that is not there any more is not handed over.
  const mayBeGone = refused.includes(undefined)
  return mayBeGone && (await readRecord(engine, queue)) === undefined ? 'in the way' : 'not ours'
}

/** The rows whose conditions did not hold, as far as they were asked for. Nothing for another reason. */
function refusedRows(error: Error): (Row | undefined)[] | undefined {
  try {
    return cancellationReasons(error).flatMap(({ failed, row }) => (failed ? [row] : []))
  } catch {
    return undefined
  }
}

/** By what the record remembers of entries that passed. */
function fateBy(row: Row, { token, seen }: Entry): Fate {
  const {
    born,
    u: passed = [],
    ux: forgotten = 0,
  } = row as {
    readonly born?: string
    readonly u?: readonly string[]
    readonly ux?: number
  }
  if (passed.includes(token)) return 'carried out'
  const { tokens } = seen
  return born === seen.born && forgotten <= tokens.kept + tokens.forgotten
    ? 'in the way'
    : 'out of memory'
}
