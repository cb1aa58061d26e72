import type { FunctionName, OptionalFunctionName } from '../runtime/function-name.ts'
import { type InvocationContext, remainingMsOf, stopwatch } from '../runtime/invocation.ts'
import { describeError, type Fields, type Log } from '../runtime/log.ts'
import { Tally, usageOf, withTally } from '../runtime/tally.ts'

/** What background work gets. */
export type Run = {
  readonly tally: Tally
  readonly log: Log
  /** Until the platform stops us; far off where there is no platform. */
  remainingMs(): number
}

type Report<A> = {
  readonly answer: A
  /** What the run did, for its log line. */
  readonly fields: Fields
  /** A later run has to do something again. */
  readonly failed: boolean
}

/** Writes one log line a run, with its metrics, even if it fails. */
export function backgroundHandler<E, A>(
  name: FunctionName | OptionalFunctionName,
  log: Log,
  work: (event: E, run: Run) => Promise<Report<A>>,
): (event: E, context?: InvocationContext) => Promise<A> {
  return (event, context = {}) => {
    const tally = new Tally()
    const durationMs = stopwatch()
    const finish = (level: 'info' | 'warn' | 'error', fields: Fields): void => {
      const used = {
        request_id: context.awsRequestId,
        function: name,
        duration_ms: durationMs(),
        ...usageOf(tally),
      }
      log.invocation(level, 'run', { ...used, ...fields }, tally, Date.now())
    }
    const remainingMs = remainingMsOf(context)
    return withTally(tally, async () => {
      try {
        const { answer, fields, failed } = await work(event, { tally, log, remainingMs })
        finish(failed ? 'warn' : 'info', fields)
        return answer
      } catch (error) {
        finish('error', { error: describeError(error) })
        throw error
      }
    })
  }
}
