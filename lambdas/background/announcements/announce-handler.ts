import type { Context, DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda'
import { describeError, type Fields, type Level, type Log } from '../../runtime/log.ts'
import type { EventsPort } from '../../runtime/put-events.ts'
import { Tally } from '../../runtime/tally.ts'
import { announceBatch } from './announce-batch.ts'

/** Where nobody says how long a run may take: a minute. */
const REMAINING_UNKNOWN_MS = 60_000

/** One log line for a batch, whatever becomes of it. Its metrics are the stream's and Lambda's own, and one for records that it cannot read. */
export function announceHandler(
  port: EventsPort,
  bus: string,
  log: Log,
): (event: DynamoDBStreamEvent, context?: Partial<Context>) => Promise<DynamoDBBatchResponse> {
  return async (event, context = {}) => {
    const startedMs = performance.now()
    const tally = new Tally()
    const finish = (level: Level, fields: Fields): void => {
      const used = {
        request_id: context.awsRequestId,
        function: 'Announce',
        duration_ms: Math.round((performance.now() - startedMs) * 10) / 10,
      }
      log.invocation(level, 'run', { ...used, ...fields }, tally, Date.now())
    }
    try {
      const { answer, ...done } = await announceBatch(port, bus, event, {
        log,
        remainingMs: context.getRemainingTimeInMillis ?? (() => REMAINING_UNKNOWN_MS),
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        random: Math.random,
      })
      tally.count('FormatsUnknown', done.passed)
      finish(done.failed + done.passed > 0 ? 'warn' : 'info', done)
      return answer
    } catch (error) {
      finish('error', { error: describeError(error) })
      throw error
    }
  }
}
