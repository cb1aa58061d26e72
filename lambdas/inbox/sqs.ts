// The inbox's requests to SQS. Loads the client at its first use, because most pushes do without.

import type { SQSClient } from '@aws-sdk/client-sqs'
import { createRequestHandler } from '../../aws/connections.ts'
import { answerTimeoutsMs } from '../../aws/failures.ts'
import {
  attributeBytes,
  KEY_ATTRIBUTE,
  MESSAGE_BYTES_MAX,
  type Message,
  type SendPort,
} from './send.ts'

/** A message that failed: when to try its group again, and the handle of this delivery. */
export type Delayed = { readonly receiptHandle: string; readonly seconds: number }

/** What `applyBatch` needs from SQS. */
export type ApplyPort = {
  /**
   * Makes SQS deliver these messages after this many seconds, instead of after the queue's visibility timeout. Throws
   * if it did not for some of them: these, and what lies behind them in their group, wait for the visibility timeout.
   */
  delay(messages: readonly Delayed[]): Promise<void>
  /** Keeps a message that can go nowhere else, with the reason if there is room for it. */
  giveUp(message: Message, reason: string): Promise<void>
}

export const sendTo = (QueueUrl: string, sqs = whenNeeded()): SendPort => ({
  async send(message) {
    const { client, SendMessageCommand } = await sqs()
    const { MessageId = '' } = await client.send(
      new SendMessageCommand({ QueueUrl, ...inputOf(message) }),
    )
    return { messageId: MessageId }
  },
})

export const applyFrom = (
  inboxUrl: string,
  failuresUrl: string,
  sqs = whenNeeded(),
): ApplyPort => ({
  async delay(messages) {
    const { client, ChangeMessageVisibilityBatchCommand } = await sqs()
    const Entries = messages.map(({ receiptHandle, seconds }, index) => ({
      Id: String(index),
      ReceiptHandle: receiptHandle,
      VisibilityTimeout: seconds,
    }))
    const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl: inboxUrl, Entries })
    // SQS answers 200 although it refused some of the entries, or all.
    const { Failed = [] } = await client.send(command)
    if (Failed.length === 0) return
    const codes = [...new Set(Failed.map(({ Code }) => Code))].join(', ')
    throw new Error(
      `Cannot delay ${Failed.length} of ${messages.length} messages because SQS answered ${codes}`,
    )
  },
  async giveUp(message, reason) {
    const { client, SendMessageCommand } = await sqs()
    const { MessageAttributes, ...input } = inputOf(message)
    const hasRoom = bytesOf(message) + attributeBytes('reason', reason) <= MESSAGE_BYTES_MAX
    const attributes = { ...MessageAttributes, ...(hasRoom && { reason: text(reason) }) }
    const command = { QueueUrl: failuresUrl, ...input, MessageAttributes: attributes }
    await client.send(new SendMessageCommand(command))
  },
})

const inputOf = ({ queue, body, deduplicationId, idempotencyKey }: Message) => ({
  MessageBody: body,
  MessageGroupId: queue,
  MessageDeduplicationId: deduplicationId,
  ...(idempotencyKey !== undefined && {
    MessageAttributes: { [KEY_ATTRIBUTE]: text(idempotencyKey) },
  }),
})

const bytesOf = ({ body, idempotencyKey }: Message): number =>
  Buffer.byteLength(body) +
  (idempotencyKey === undefined ? 0 : attributeBytes(KEY_ATTRIBUTE, idempotencyKey))

const text = (StringValue: string) => ({ DataType: 'String', StringValue })

type Sqs = typeof import('@aws-sdk/client-sqs') & { readonly client: SQSClient }

/** The SDK sends only once: `send.ts` repeats. */
function whenNeeded(): () => Promise<Sqs> {
  let made: Promise<Sqs> | undefined
  return () => {
    made ??= import('@aws-sdk/client-sqs').then((module) => {
      const requestHandler = createRequestHandler({ answerTimeoutMs: answerTimeoutsMs.sqs })
      return { ...module, client: new module.SQSClient({ maxAttempts: 1, requestHandler }) }
    })
    // If the import failed, the next request that needs it tries again.
    made.catch(() => {
      made = undefined
    })
    return made
  }
}
