// Whatever client of DynamoDB we are given, as what takes document commands and answers in time. It stands apart
// because it loads the SDK, and signing requests does not need that.

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { hasDeadline, type SendOptions, withinDeadline } from './failures.ts'

/** Takes document commands: the SDK's document client, or a simulation of it. */
export type DocumentPort = { send(command: never): Promise<unknown> }

export function asDocumentPort(client: DynamoDBClient | DocumentPort): DocumentPort {
  // A raw client has a config and no marshalling yet; a document client or a simulation is as needed.
  const isRaw = 'config' in client && !('translateConfig' in (client.config as object))
  return isRaw
    ? (DynamoDBDocumentClient.from(client as DynamoDBClient) as unknown as DocumentPort)
    : (client as DocumentPort)
}

/** Gives every request a time by which its answer must arrive. */
export function bounded(port: DocumentPort, answerTimeoutMs: number): DocumentPort {
  if (hasDeadline(port)) return port
  const send = port.send.bind(port) as (command: never, options: SendOptions) => Promise<unknown>
  return {
    send: (command) => withinDeadline(answerTimeoutMs, (options) => send(command, options)),
  }
}
