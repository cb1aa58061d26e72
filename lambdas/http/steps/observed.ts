import type { FunctionName } from '../../runtime/function-name.ts'
import { stopwatch } from '../../runtime/invocation.ts'
import type { Log } from '../../runtime/log.ts'
import { SLOW_CALL_MS } from '../../runtime/metric-names.ts'
import { usageOf } from '../../runtime/tally.ts'
import type { Step, StepRequest } from './step.ts'

/** One log line for every answer, with the metrics of what was done for it. */
export function observed(name: FunctionName, log: Log): Step {
  let isFirst = true
  const finish = ({ event: exchange, response }: StepRequest): void => {
    const { event, requestId, target, queue, startedMs, tally } = exchange
    const status = response?.statusCode ?? 500
    const durationMs = stopwatch(startedMs)()
    // The function's duration includes the time for which callers ask to wait, so subtract that. Only a slow pop pays.
    const isSlow = durationMs - tally.heldMs > SLOW_CALL_MS
    if (name === 'Pop' && isSlow) tally.count('SlowPops', 1)
    if (status >= 500) tally.count('Errors5xx', 1)
    const fields = {
      request_id: requestId,
      function: name,
      route: target?.key ?? event.routeKey,
      queue,
      key: exchange.rateKey,
      status,
      duration_ms: durationMs,
      ...usageOf(tally),
      error_code: exchange.errorCode,
      invocation_id: exchange.context.awsRequestId,
      cold_start: isFirst || undefined,
    }
    isFirst = false
    const level = status === 500 ? 'error' : status > 500 ? 'warn' : 'info'
    // Metrics count for the time at which the call began, as Lambda's own do: a waiting call ends up to 20 s later.
    log.invocation(level, 'request', fields, tally, Math.round(Date.now() - durationMs))
  }
  return { after: finish, onError: finish }
}
