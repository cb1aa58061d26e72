import { describeError, type Log } from '../../runtime/log.ts'
import type { Answer } from '../answer.ts'
import { errorAnswer } from '../error-answer.ts'
import type { Step } from './step.ts'

/** Errors in their one shape, and the request id on every answer. */
export function answered(log: Log): Step {
  return {
    after: (request) => {
      request.response = withRequestId(request.response as Answer, request.event.requestId)
    },
    onError: (request) => {
      const { event: exchange, error } = request
      const changes = exchange.target?.route.method !== 'GET'
      const { code, answer } = errorAnswer(error, exchange.requestId, changes)
      exchange.errorCode = code
      if (answer.statusCode >= 500) {
        log.write(answer.statusCode === 500 ? 'error' : 'warn', 'request failed', {
          request_id: exchange.requestId,
          error_code: code,
          queue: exchange.queue,
          key: exchange.rateKey,
          error: describeError(error),
        })
      }
      request.response = withRequestId(answer, exchange.requestId)
    },
  }
}

const withRequestId = (answer: Answer, requestId: string): Answer => ({
  ...answer,
  headers: { ...answer.headers, 'x-request-id': requestId },
})
