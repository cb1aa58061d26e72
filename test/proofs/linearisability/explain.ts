import type { Verdict } from './checker.ts'
import type { History } from './histories.ts'
import type { QueueState } from './queue-state.ts'
import type { RecordedCall } from './recorder.ts'

const CALLS_SHOWN = 12

/** Shows why there is no order: the end of the longest one found, and the calls that fit nowhere. */
export function explain(
  { plan, calls }: History,
  verdict: Exclude<Verdict<QueueState>, { kind: 'linearisable' }>,
): string {
  const head = `${plan.queue}: ${verdict.kind} after ${verdict.steps} steps`
  if (verdict.kind === 'undecided') return head

  const start = Math.min(...calls.map(({ calledAt }) => calledAt))
  const line = (index: number) => describeCall(calls[index]!, start)
  const last = verdict.order.at(-1)
  const shown = verdict.order.slice(-CALLS_SHOWN).map(line)
  const stuck = verdict.stuck.map(line)
  const open = calls
    .filter((call, index) => call.answer === undefined && !verdict.order.includes(index))
    .map((call) => describeCall(call, start))
  return [
    head,
    `plan ${JSON.stringify(plan)}`,
    `the longest order ends (${verdict.order.length} of ${calls.length}, last ${last}):`,
    ...shown,
    'then the queue is:',
    describeState(verdict.state),
    'and none of these fits:',
    ...stuck,
    ...(open.length > 0 ? ['outcome unknown and unused:', ...open] : []),
  ].join('\n  ')
}

function describeCall(call: RecordedCall, start: number): string {
  const ms = (at: number) => ((at - start) / 1e6).toFixed(3)
  const answer = call.answer === undefined ? '?' : JSON.stringify(call.answer)
  const { worker, operation, calledAt, returnedAt } = call
  return `${ms(calledAt)}–${ms(returnedAt)} ${worker} ${JSON.stringify(operation)} → ${answer}`
}

function describeState({ lanes, locks, ended }: QueueState): string {
  const shown = lanes.map(
    ({ priority, items }) =>
      `${priority}: ${items
        .map(({ name, returned, lockId }) => `${name}(${returned}${lockId ? ` ${lockId}` : ''})`)
        .join(' ')}`,
  )
  return JSON.stringify({ lanes: shown, locks, ended })
}
