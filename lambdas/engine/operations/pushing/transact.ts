import { cancellationReasons, isConflict } from '../../../foundation/cancellation.ts'
import type { Row } from '../../../foundation/dynamo.ts'
import { failureOf } from '../../../foundation/outcome.ts'
import { isPassing, type Passing, patienceFor } from '../../../foundation/patience.ts'
import { recordKey } from '../../core/keys.ts'
import type { PushItem, TransactItem } from '../../verbs.ts'
import { busy, type Engine, outcomeUnknown, pause, readRecord } from '../attempts/engine.ts'
import { type Entry, makeEntry, pushLimited } from './transact-item.ts'

/** How many new entries we make, one after each transaction that failed because of the queue. */
const ENTRIES_MAX = 8

export type SendEntries<T> = (entries: readonly TransactItem[]) => Promise<T>

/**
 * Pushes the items in the caller's own transaction, which `send` sends with the entries it is given. If the
 * transaction fails because of the queue (its tail was full, or its lane is gone), we try again with a new entry. We
 * throw the caller's own errors, such as a condition that did not hold, as they came. Returns undefined if the
 * transaction's answer was lost and the record shows that it passed.
 */
export async function transact<T>(
  engine: Engine,
  queue: string,
  items: readonly PushItem[],
  send: SendEntries<T>,
): Promise<T | undefined> {
  const limit = pushLimited()
  const tries = new Tries(engine)
  for (let entries = 1; entries <= ENTRIES_MAX; entries += 1) {
    if (entries > 1) await pause(engine, entries)
    const made = await makeEntry(engine, queue, items, limit)
    const sent = await sendEntry(engine, queue, made, send, tries)
    if (sent.kind === 'passed') return sent.answer
  }
  throw busy(queue)
}

type Sent<T> =
  | { readonly kind: 'passed'; readonly answer: T | undefined }
  | { readonly kind: 'in the way' }

/**
 * Sends one entry for as long as that may help. After a lost answer we send it again, because it passes only once:
 * then we know whether the first copy passed. Until then, the only honest answer is "unknown".
 */
async function sendEntry<T>(
  engine: Engine,
  queue: string,
  made: Entry,
  send: SendEntries<T>,
  tries: Tries,
): Promise<Sent<T>> {
  let doubt: { readonly cause: unknown } | undefined
  try {
    for (;;) {
      try {
        return { kind: 'passed', answer: await send([made.entry]) }
      } catch (error) {
        const fate = await fateOf(engine, queue, made, error)
        if (fate === 'carried out') return { kind: 'passed', answer: undefined }
        if (fate === 'not ours') throw error
        if (fate === 'unknown') doubt ??= { cause: error }
        // If a first copy may still land, another entry could push the same items twice.
        if (fate === 'in the way' && doubt === undefined) return { kind: 'in the way' }
        const passing = fate === 'in the way' ? 'unknown' : fate
        if (!(await tries.pause(passing))) throw busy(queue)
      }
    }
  } catch (error) {
    throw doubt === undefined ? error : outcomeUnknown(queue, doubt.cause)
  }
}

/** Counts a call's refusals of each kind; it is as patient as with our own requests. */
class Tries {
  readonly #engine: Engine
  readonly #met = new Map<Passing, { times: number; pausesMs: number }>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Waits before the next try; returns false if another try would not help. */
  async pause(failure: Passing): Promise<boolean> {
    const { clock, random } = this.#engine
    const met = this.#met.get(failure) ?? { times: 0, pausesMs: 0 }
    this.#met.set(failure, met)
    met.times += 1
    const { attemptsMax, lastsMs = Number.POSITIVE_INFINITY, pauseMs } = patienceFor(failure, false)
    if (met.times >= attemptsMax || met.pausesMs >= lastsMs) return false
    const ms = pauseMs(met.times, random)
    met.pausesMs += ms
    await clock.sleep(ms)
    return true
  }
}

type Fate =
  | 'carried out'
  /** Refused because of the queue: a new entry may pass. */
  | 'in the way'
  | 'not ours'
  /** The answer was lost, or DynamoDB refused it for now: the same entry may pass in a moment. */
  | Passing

async function fateOf(engine: Engine, queue: string, made: Entry, error: unknown): Promise<Fate> {
  // An error that the caller's own code throws did not come from a DynamoDB client.
  if (!(error instanceof Error) || !('$metadata' in error)) return 'not ours'
  const failure = failureOf(error)
  if (isPassing(failure)) return failure
  if (failure !== 'cancelled') return 'not ours'
  const refused = refusedRows(error)
  if (refused === undefined) return 'not ours'
  if (refused.length === 0) return isConflict(error) ? 'conflict' : 'throttled'
  const { pk, sk } = recordKey(queue)
  const ours = refused.find((row) => row?.pk === pk && row.sk === sk)
  if (ours !== undefined) return hasPassed(ours, made) ? 'carried out' : 'in the way'
  // DynamoDB cannot return a record that does not exist any more.
  const mayBeGone = refused.includes(undefined)
  return mayBeGone && (await readRecord(engine, queue)) === undefined ? 'in the way' : 'not ours'
}

/** The rows whose conditions did not hold, as far as the caller asked for them; undefined for any other reason. */
function refusedRows(error: Error): (Row | undefined)[] | undefined {
  try {
    return cancellationReasons(error).flatMap(({ failed, row }) => (failed ? [row] : []))
  } catch {
    return undefined
  }
}

/** By what the record remembers of entries that passed. */
const hasPassed = (row: Row, { token }: Entry): boolean =>
  ((row as { readonly u?: readonly string[] }).u ?? []).includes(token)
