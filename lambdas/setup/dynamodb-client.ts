import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { DocumentPort } from '../store/dynamo.ts'

/** DynamoDB as the functions use it. */
export function documentsFromEnvironment(): DocumentPort {
  const client = new DynamoDBClient({ maxAttempts: 1, requestHandler: dynamodbTimeouts })
  return DynamoDBDocumentClient.from(client) as unknown as DocumentPort
}

/**
 * The engine repeats what is definite and looks up what is not (decision 0008), so the SDK sends
 * once. A connection within a region takes milliseconds: after a second it will not come. An answer
 * is late after three: rarer than any slow one, and four of them, with pauses, are still within the
 * gateway's 30 s. Late must mean an error, not a warning: the engine then finds out what happened.
 */
const dynamodbTimeouts = {
  connectionTimeout: 1_000,
  requestTimeout: 3_000,
  throwOnRequestTimeout: true,
}
