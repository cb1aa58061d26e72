// Delivers one batch of a stream as Lambda does, until the function has taken all of it or we have given up the
// rest. It keeps the order: after a record that fails, nothing goes on before that record is settled one way or the
// other.

import { createdAtMs, type StreamRecord } from './stream-record.ts'

/** The function's answer to a batch. */
export type BatchAnswer =
  | { readonly kind: 'done' }
  /** It took the records before this index. */
  | { readonly kind: 'failed'; readonly from: number }
  /** It was not asked: the stack is stopping, or all its processes are busy. */
  | { readonly kind: 'not asked' }

export type DeliveryRules = {
  /** On a failure try each half by itself, which does not count as a retry. */
  readonly bisects: boolean
  readonly retriesMax?: number | undefined
  readonly recordAgeMaxMs?: number | undefined
}

export type GiveUpReason = 'RetryAttemptsExhausted' | 'RecordAgeExceeded'

export type DeliveryEdge = {
  invoke(records: readonly StreamRecord[]): Promise<BatchAnswer>
  giveUp(records: readonly StreamRecord[], reason: GiveUpReason, attempts: number): void
  /** The records need not be delivered again. */
  settled(records: readonly StreamRecord[]): void
  nowMs(): number
  sleep(ms: number): Promise<void>
  isStopping(): boolean
}

/** Soon enough to watch: a function that fails for a minute is tried some ten times. */
const RETRY_FIRST_MS = 100
const RETRY_MS_MAX = 10_000

type Part = {
  readonly records: readonly StreamRecord[]
  /** How often the first of them has failed. */
  readonly failures: number
}

/** Returns early, with records neither taken nor given up, only where the stack is stopping. */
export async function deliverBatch(
  records: readonly StreamRecord[],
  rules: DeliveryRules,
  edge: DeliveryEdge,
): Promise<void> {
  const parts: Part[] = [{ records, failures: 0 }]
  for (;;) {
    const part = parts.shift()
    if (!part || edge.isStopping()) return
    const young = withoutTooOld(part.records, rules, edge, part.failures)
    if (young.length === 0) continue
    const answer = await edge.invoke(young)
    switch (answer.kind) {
      case 'done':
        edge.settled(young)
        break
      case 'not asked':
        parts.unshift({ records: young, failures: part.failures })
        await edge.sleep(RETRY_FIRST_MS)
        break
      case 'failed':
        parts.unshift(
          ...(await afterFailure({ ...part, records: young }, answer.from, rules, edge)),
        )
        break
      default:
        answer satisfies never
    }
  }
}

/** What is left to deliver of a part that failed; after a pause, if it is the same part again. */
async function afterFailure(
  { records, failures }: Part,
  from: number,
  { bisects, retriesMax = Number.POSITIVE_INFINITY }: DeliveryRules,
  edge: DeliveryEdge,
): Promise<readonly Part[]> {
  if (from > 0) edge.settled(records.slice(0, from))
  const left = records.slice(from)
  const failuresOfFirst = from > 0 ? 1 : failures + 1
  if (from === 0 && bisects && left.length > 1) {
    const middle = Math.ceil(left.length / 2)
    return [
      { records: left.slice(0, middle), failures },
      { records: left.slice(middle), failures: 0 },
    ]
  }
  if (failuresOfFirst > retriesMax) {
    edge.giveUp(left, 'RetryAttemptsExhausted', failuresOfFirst)
    edge.settled(left)
    return []
  }
  await edge.sleep(Math.min(RETRY_MS_MAX, RETRY_FIRST_MS * 2 ** (failuresOfFirst - 1)))
  return [{ records: left, failures: failuresOfFirst }]
}

function withoutTooOld(
  records: readonly StreamRecord[],
  { recordAgeMaxMs = Number.POSITIVE_INFINITY }: DeliveryRules,
  edge: DeliveryEdge,
  failures: number,
): readonly StreamRecord[] {
  // They are in order of age.
  const at = records.findIndex((record) => edge.nowMs() - createdAtMs(record) <= recordAgeMaxMs)
  const tooOld = at < 0 ? records : records.slice(0, at)
  if (tooOld.length === 0) return records
  edge.giveUp(tooOld, 'RecordAgeExceeded', failures)
  edge.settled(tooOld)
  return records.slice(tooOld.length)
}
