// A received message as SQS writes it, with the attributes that were asked for.

import { md5, md5OfAttributes } from './core/digest.ts'
import type { MessageAttributes, Received } from './core/message.ts'

export type Wanted = {
  readonly systemAttributes: readonly string[]
  readonly attributes: readonly string[]
}

/** A sender's id as AWS shows it; here, nobody has a name. */
const SENDER_ID = 'AIDACKCEVSQ6C2EXAMPLE'

export function receivedMessage(
  { message, delivery }: Received,
  isFifo: boolean,
  wanted: Wanted,
): Record<string, unknown> {
  const { id, body } = message
  const system = systemAttributes({ message, delivery }, isFifo, wanted.systemAttributes)
  const attributes = wantedAttributes(message.attributes, wanted.attributes)
  return {
    MessageId: id,
    ReceiptHandle: delivery.handle,
    MD5OfBody: md5(body),
    Body: body,
    ...(Object.keys(system).length > 0 && { Attributes: system }),
    ...(Object.keys(attributes).length > 0 && {
      MessageAttributes: attributes,
      MD5OfMessageAttributes: md5OfAttributes(attributes),
    }),
  }
}

function systemAttributes(
  { message, delivery }: Received,
  isFifo: boolean,
  wanted: readonly string[],
): Readonly<Record<string, string>> {
  const all: Readonly<Record<string, string | undefined>> = {
    ApproximateReceiveCount: String(delivery.receives),
    ApproximateFirstReceiveTimestamp: String(delivery.firstReceivedAtMs),
    SentTimestamp: String(message.sentAtMs),
    SenderId: SENDER_ID,
    SequenceNumber: isFifo ? message.sequence : undefined,
    MessageGroupId: message.groupId,
    MessageDeduplicationId: message.deduplicationId,
    AWSTraceHeader: message.traceHeader,
    DeadLetterQueueSourceArn: message.deadLetterSource,
  }
  return Object.fromEntries(
    Object.entries(all).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && (wanted.includes('All') || wanted.includes(entry[0])),
    ),
  )
}

/** By name, by `prefix.*`, or all of them. */
function wantedAttributes(all: MessageAttributes, wanted: readonly string[]): MessageAttributes {
  const isWanted = (name: string) =>
    wanted.some(
      (one) =>
        one === 'All' || one === name || (one.endsWith('.*') && name.startsWith(one.slice(0, -2))),
    )
  return Object.fromEntries(Object.entries(all).filter(([name]) => isWanted(name)))
}
