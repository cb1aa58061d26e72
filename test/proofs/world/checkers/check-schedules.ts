import { MISSED_AFTER_MS } from '../../../../engine/core/schedule.ts'
import type { ScheduleInput } from '../../../../engine/queues.ts'

/** The clocks of two processes are at most twice five seconds apart, and a request takes a while. */
const SLACK_MS = 15_000

type Found = {
  readonly dueMs: number
  readonly pushedAtMs: number
  readonly text: string
  /** How often its schedule had come to be by then. */
  readonly life: number
}

export const newAccount = (queue: string, name: string, input: ScheduleInput) => ({
  ...{ queue, name, input },
  /** In the order in which they came. */
  found: [] as Found[],
  /** Items that it may push. */
  texts: new Set<string>(),
  paused: [] as { readonly fromMs: number; readonly toMs: number }[],
  runs: { made: 0, unknown: 0, found: 0 },
  deletedMs: undefined as number | undefined,
  /** Somebody has asked for that, and may not have heard of it. */
  mayBeDeleted: false,
  /** Once deleted it may be there again. */
  mayComeBack: false,
})

export type Account = ReturnType<typeof newAccount>

/** What is wrong with what one schedule pushed. `dues`: all times at which it should have been due. */
export function wrongWith(account: Account, dues: readonly number[]): string[] {
  const { name, found, runs, texts } = account
  const violations: string[] = []
  const wrong = (what: string) => void violations.push(`${account.queue}/${name}: ${what}`)
  const pushed = new Set<number>()
  let last = { dueMs: Number.NEGATIVE_INFINITY, life: 0 }
  const expected = new Set(dues)
  for (const occurrence of found) {
    const { dueMs, pushedAtMs, text } = occurrence
    const when = iso(dueMs)
    if (!expected.has(dueMs)) wrong(`was never due at ${when}`)
    if (pushedAtMs < dueMs) wrong(`pushed ${when} too early, at ${iso(pushedAtMs)}`)
    if (dueMs > (account.deletedMs ?? Number.POSITIVE_INFINITY) + SLACK_MS) {
      wrong(`pushed ${when} though it was deleted`)
    }
    // A put of which nobody heard may land once the schedule is deleted: it begins anew, and knows nothing of its first life.
    const isAnother = account.mayComeBack && occurrence.life !== last.life
    if (dueMs <= last.dueMs && !isAnother) wrong(`doubled ${when}, or pushed it out of order`)
    if (!texts.has(text)) wrong(`pushed another item at ${when}`)
    pushed.add(dueMs)
    last = occurrence
  }
  for (const dueMs of dues) {
    if (!pushed.has(dueMs) && !mayBeMissing(account, dueMs, dues)) wrong(`missed ${iso(dueMs)}`)
  }
  if (runs.found < runs.made || runs.found > runs.made + runs.unknown) {
    wrong(`was run by hand ${runs.made} times and found ${runs.found} times`)
  }
  return violations
}

/** Whether the rule for what is missed explains it: the next one was pushed when this one was minutes old. */
function mayBeMissing(
  { input, mayBeDeleted, paused, found }: Account,
  dueMs: number,
  dues: readonly number[],
): boolean {
  const isPaused = paused.some(
    ({ fromMs, toMs }) => fromMs - MISSED_AFTER_MS - SLACK_MS <= dueMs && dueMs <= toMs + SLACK_MS,
  )
  // Resumed, it begins with what comes next.
  if (input.missed === 'skip' && isPaused) return true
  const at = found.findIndex((occurrence) => occurrence.dueMs > dueMs)
  const next = found[at]
  // What had not been pushed by then never is.
  if (next === undefined && mayBeDeleted) return true
  if (input.missed === 'all') return false
  // Resumed, it begins with the last that was due.
  if (input.missed === 'one' && isPaused) return next !== undefined
  // With `skip` the rest may be missing up to the end; with `one` the last is pushed for it.
  if (next === undefined) return input.missed === 'skip'
  const missedBeforeMs = next.pushedAtMs - MISSED_AFTER_MS
  if (input.missed === 'skip') return dueMs < missedBeforeMs
  // The first of those that were left out was too old, so the last was pushed for all.
  const lastMs = found[at - 1]?.dueMs ?? Number.NEGATIVE_INFINITY
  const firstMs = dues.find((one) => one > lastMs) ?? dueMs
  return firstMs < missedBeforeMs
}

const iso = (ms: number): string => new Date(ms).toISOString().slice(11, 19)
