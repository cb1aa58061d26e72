import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda'
import { type InvocationContext, remainingMsOf, stopwatch } from '../../runtime/invocation.ts'
import { describeError, type Fields, type Level, type Log } from '../../runtime/log.ts'
import type { EventsPort } from '../../runtime/put-events.ts'
import { Tally } from '../../runtime/tally.ts'
import { announceBatch } from './announce-batch.ts'

/**
 * Writes one log line a batch, even if it fails. The metrics for it are the stream's and Lambda's own, and
 * one for records that it cannot read.
 */
export function announceHandler(
  port: EventsPort,
  bus: string,
  log: Log,
): (event: DynamoDBStreamEvent, context?: InvocationContext) => Promise<DynamoDBBatchResponse> {
  return async (event, context = {}) => {
    const durationMs = stopwatch()
    const tally = new Tally()
    const finish = (level: Level, fields: Fields): void => {
      const used = {
        request_id: context.awsRequestId,
        function: 'Announce',
        duration_ms: durationMs(),
      }
      log.invocation(level, 'run', { ...used, ...fields }, tally, Date.now())
    }
    try {
      const { answer, ...done } = await announceBatch(port, bus, event, {
        log,
        remainingMs: remainingMsOf(context),
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
