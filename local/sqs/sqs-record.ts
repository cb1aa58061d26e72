// A message as a function gets it.

import { REGION } from '../template/identities.ts'

/** As ReceiveMessage gives it. */
export type ReceivedMessage = {
  readonly MessageId: string
  readonly ReceiptHandle: string
  readonly Body: string
  readonly MD5OfBody: string
  readonly Attributes?: Readonly<Record<string, string>> | undefined
  readonly MessageAttributes?:
    | Readonly<Record<string, { DataType: string; StringValue?: string; BinaryValue?: string }>>
    | undefined
  readonly MD5OfMessageAttributes?: string | undefined
}

export type SqsRecord = Readonly<Record<string, unknown>> & {
  readonly messageId: string
  readonly body: string
}

export function sqsRecord(message: ReceivedMessage, queueArn: string): SqsRecord {
  const { MD5OfMessageAttributes, MessageAttributes = {} } = message
  return {
    messageId: message.MessageId,
    receiptHandle: message.ReceiptHandle,
    body: message.Body,
    attributes: message.Attributes ?? {},
    messageAttributes: Object.fromEntries(
      Object.entries(MessageAttributes).map(([name, { DataType, StringValue, BinaryValue }]) => [
        name,
        {
          ...(StringValue !== undefined && { stringValue: StringValue }),
          ...(BinaryValue !== undefined && { binaryValue: BinaryValue }),
          stringListValues: [],
          binaryListValues: [],
          dataType: DataType,
        },
      ]),
    ),
    md5OfBody: message.MD5OfBody,
    ...(MD5OfMessageAttributes !== undefined && { md5OfMessageAttributes: MD5OfMessageAttributes }),
    eventSource: 'aws:sqs',
    eventSourceARN: queueArn,
    awsRegion: REGION,
  }
}
