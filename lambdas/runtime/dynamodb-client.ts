import type { DocumentPort } from '../foundation/dynamo.ts'
import { createLeanDynamodb } from '../foundation/lean/lean-dynamodb.ts'

/** DynamoDB as the functions use it: nothing of the SDK, which was most of a call and of a cold start. */
export const documentsFromEnvironment = (): DocumentPort => createLeanDynamodb()
