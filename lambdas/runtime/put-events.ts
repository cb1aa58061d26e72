// Puts events on the bus, as many in a call as it takes, each at least once: a call whose answer was lost is
// repeated. The SDK sends once; only this file repeats, entry by entry.

import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge'
import { createRequestHandler } from '../../aws/connections.ts'
import { answerTimeoutsMs } from '../../aws/failures.ts'

/** What PutEvents takes. */
export type EventEntry = {
  readonly EventBusName: string
  readonly Source: string
  readonly DetailType: string
  readonly Time: Date
  readonly Detail: string
}

/** The one request to EventBridge that we use. */
export type EventsPort = {
  putEvents(entries: readonly EventEntry[]): Promise<readonly EntryResult[]>
}

/** In the order of the entries. An entry without an error code is on the bus. */
type EntryResult = { readonly ErrorCode?: string | undefined }

type PutEdge = {
  readonly port: EventsPort
  sleep(ms: number): Promise<void>
  /** From 0 to 1. */
  random(): number
  remainingMs(): number
  /** Called when entries have failed as often as they may. */
  onGivenUp(entries: number, error: unknown): void
}

/** EventBridge's own bounds of a call. */
const ENTRIES_PER_CALL = 10
export const BYTES_PER_CALL = 256 * 1024
/** With pauses of up to 0.1, 0.4 and 1.6 s, which outlast throttling; during an outage, the stream waits. */
const ATTEMPTS_MAX = 4
const PAUSE_FIRST_MS = 100
/** A call with all its attempts takes 2 s of pauses, and 3 s for each answer that does not come. */
const LEAVE_MS = 15_000

/**
 * Puts all entries on the bus, call after call, so that a queue's events arrive in order if nothing
 * fails. Returns the indexes of entries that may not be there.
 */
export async function putEvents(
  entries: readonly EventEntry[],
  edge: PutEdge,
): Promise<ReadonlySet<number>> {
  const failed = new Set<number>()
  let isDown = false
  for (const call of callsOf(entries)) {
    // If there is no time or no bus, the entries come again with the next batch.
    const outcome: CallOutcome =
      isDown || edge.remainingMs() < LEAVE_MS
        ? { left: call, isDown: true }
        : await putCall(entries, call, edge)
    for (const index of outcome.left) failed.add(index)
    isDown = outcome.isDown
  }
  return failed
}

/** What may not be on the bus, and whether the bus is down. */
type CallOutcome = { readonly left: readonly number[]; readonly isDown: boolean }

async function putCall(
  entries: readonly EventEntry[],
  call: readonly number[],
  { port, sleep, random, onGivenUp }: PutEdge,
): Promise<CallOutcome> {
  let left = call
  for (let attempt = 1; ; attempt += 1) {
    let problem: unknown
    let isDown = false
    try {
      const results = await port.putEvents(left.map((index) => entries[index] as EventEntry))
      problem = results.find(({ ErrorCode }) => ErrorCode !== undefined)?.ErrorCode
      // An entry without a result may not be there.
      left = left.filter((_, i) => results[i] === undefined || results[i].ErrorCode !== undefined)
    } catch (error) {
      problem = error
      isDown = true
    }
    if (left.length === 0) return { left, isDown: false }
    if (attempt === ATTEMPTS_MAX) {
      onGivenUp(left.length, problem)
      return { left, isDown }
    }
    // The pause is random, because otherwise all functions that were throttled together would come back together.
    await sleep(PAUSE_FIRST_MS * 4 ** (attempt - 1) * random())
  }
}

/** Indexes of what goes into one call. */
export function* callsOf(entries: readonly EventEntry[]): Generator<readonly number[]> {
  let call: number[] = []
  let bytes = 0
  for (const [index, entry] of entries.entries()) {
    const size = bytesOf(entry)
    if (call.length === ENTRIES_PER_CALL || (call.length > 0 && bytes + size > BYTES_PER_CALL)) {
      yield call
      call = []
      bytes = 0
    }
    call.push(index)
    bytes += size
  }
  if (call.length > 0) yield call
}

/** As EventBridge counts: 14 for the time, and the bytes of these three. */
const bytesOf = ({ Source, DetailType, Detail }: EventEntry): number =>
  14 + Buffer.byteLength(Source) + Buffer.byteLength(DetailType) + Buffer.byteLength(Detail)

/** A late answer counts as an error. */
export function eventBridge(): EventsPort {
  const client = new EventBridgeClient({
    maxAttempts: 1,
    requestHandler: createRequestHandler({ answerTimeoutMs: answerTimeoutsMs.eventBridge }),
  })
  return {
    async putEvents(entries) {
      const { Entries = [] } = await client.send(new PutEventsCommand({ Entries: [...entries] }))
      return Entries
    },
  }
}
