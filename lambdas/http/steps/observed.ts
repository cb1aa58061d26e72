import type { FunctionName } from '../../runtime/function-name.ts'
import { stopwatch } from '../../runtime/invocation.ts'
import type { Log } from '../../runtime/log.ts'
import { usageOf } from '../../runtime/tally.ts'
import type { Step, StepRequest } from './step.ts'

/** One log line for every answer, with the metrics of what was done for it. */
export function observed(name: FunctionName, log: Log): Step {
  let isFirst = true
  const finish = ({ event: exchange, response }: StepRequest): void => {
    const { event, requestId, target, queue, startedMs, tally } = exchange
    const status = response?.statusCode ?? 500
    const durationMs = stopwatch(startedMs)()
    // Those that are held take as long as they are asked to.
    const mayWait = exchange.parameters?.wait_seconds !== undefined
    if (name === 'Pop' && !mayWait) tally.count('PopDuration', durationMs)
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
    log.invocation(level, 'request', fields, tally, Date.now())
  }
  return { after: finish, onError: finish }
}
