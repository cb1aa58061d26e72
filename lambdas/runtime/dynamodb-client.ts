import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { DocumentPort } from '../foundation/dynamo.ts'
import { createRequestHandler } from '../foundation/network/request-handler.ts'

/**
 * DynamoDB as the functions use it. The engine repeats what is definite and looks up what is not
 * (decision 0008), so the SDK sends once.
 */
export function documentsFromEnvironment(): DocumentPort {
  const client = new DynamoDBClient({ maxAttempts: 1, requestHandler: createRequestHandler() })
  return DynamoDBDocumentClient.from(client) as unknown as DocumentPort
}
