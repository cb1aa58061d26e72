import type { SQSEvent, SQSRecord } from 'aws-lambda'
import type { Message } from '../../../lambdas/inbox/send.ts'
import type { ApplyPort, Delayed } from '../../../lambdas/inbox/sqs.ts'
import type { Run } from '../../../lambdas/runtime/log.ts'
import { createLog, Tally } from '../../../lambdas/runtime/log.ts'

/** What Lambda and SQS bring to a run that applies messages. */

export const ARN = 'arn:aws:sqs:eu-central-1:123456789012:PushPop-Inbox.fifo'

type Given = {
  readonly body?: string
  readonly key?: string
  readonly received?: number
  readonly sentMs?: number
}

export const record = (
  group: string,
  number: number,
  { body = `{"item":${number}}`, key, received = 1, sentMs = 0 }: Given = {},
): SQSRecord =>
  ({
    messageId: `${group}-${number}`,
    receiptHandle: `handle-${group}-${number}`,
    body,
    attributes: {
      ApproximateReceiveCount: String(received),
      SentTimestamp: String(sentMs),
      MessageGroupId: group,
      SequenceNumber: String(18_849_496_460_467_696_128n + BigInt(number)),
    },
    messageAttributes:
      key === undefined ? {} : { 'idempotency-key': { stringValue: key, dataType: 'String' } },
    eventSourceARN: ARN,
  }) as unknown as SQSRecord

export const eventOf = (...records: SQSRecord[]): SQSEvent => ({ Records: records })

/** A port that notes what it was asked, and a run with its log lines. */
export function aRun({ remainingMs = 30_000 } = {}) {
  const delayed: Delayed[] = []
  const givenUp: { readonly message: Message; readonly reason: string }[] = []
  const lines: Record<string, unknown>[] = []
  const tally = new Tally()
  const port: ApplyPort = {
    async delay(messages) {
      delayed.push(...messages)
    },
    async giveUp(message, reason) {
      givenUp.push({ message, reason })
    },
  }
  const log = createLog({
    level: 'info',
    service: 'PushPop',
    write: (line) => {
      lines.push(JSON.parse(line))
    },
  })
  const run: Run = { tally, log, remainingMs: () => remainingMs }
  return { port, run, delayed, givenUp, lines, tally }
}
