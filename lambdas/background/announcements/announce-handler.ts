import type { Context, DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda'
import { describeError, type Fields, type Level, type Log } from '../../runtime/log.ts'
import type { EventsPort } from '../../runtime/put-events.ts'
import { announceBatch } from './announce-batch.ts'

/** Where nobody says how long a run may take: a minute. */
const REMAINING_UNKNOWN_MS = 60_000

/** One log line for a batch, whatever becomes of it. Its metrics are the stream's and Lambda's own. */
export function announceHandler(
  port: EventsPort,
  bus: string,
  log: Log,
): (event: DynamoDBStreamEvent, context?: Partial<Context>) => Promise<DynamoDBBatchResponse> {
  return async (event, context = {}) => {
    const startedMs = performance.now()
    const finish = (level: Level, fields: Fields): void =>
      log.write(level, 'run', {
        request_id: context.awsRequestId,
        function: 'Announce',
        duration_ms: Math.round((performance.now() - startedMs) * 10) / 10,
        ...fields,
      })
    try {
      const { answer, ...done } = await announceBatch(port, bus, event, {
        log,
        remainingMs: context.getRemainingTimeInMillis ?? (() => REMAINING_UNKNOWN_MS),
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        random: Math.random,
      })
      finish(done.failed > 0 ? 'warn' : 'info', done)
      return answer
    } catch (error) {
      finish('error', { error: describeError(error) })
      throw error
    }
  }
}
