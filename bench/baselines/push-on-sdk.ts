// The push function with the SDK's client in the place of the lean one, which is otherwise the same. The
// cold-start benchmark shows the two side by side.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { createRequestHandler } from '../../aws/connections.ts'
import type { DocumentPort } from '../../aws/dynamo.ts'
import { pushEndpoints } from '../../lambdas/http/push.ts'
import { httpHandler } from '../../lambdas/http/stack.ts'
import { createLog } from '../../lambdas/runtime/log.ts'
import { createQueuesOn } from '../../lambdas/runtime/services.ts'

const client = new DynamoDBClient({ maxAttempts: 1, requestHandler: createRequestHandler() })
const documents = DynamoDBDocumentClient.from(client) as unknown as DocumentPort
const log = createLog({ level: 'info', service: 'bench' })
const queues = createQueuesOn(process.env, log, documents, async () => {
  throw new Error('A push of the benchmark needs no S3')
})

export const handler = httpHandler('Push', log, pushEndpoints(queues))
