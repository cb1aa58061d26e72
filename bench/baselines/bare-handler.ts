// The least that a function on DynamoDB can be: a client, and one call. What a cold start of ours is
// compared with, bundled in the same way.

import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb'

const client = new DynamoDBClient({})

export const handler = (event: { readonly id: string }) =>
  client.send(
    new UpdateItemCommand({
      TableName: 'table',
      Key: { pk: { S: event.id } },
      UpdateExpression: 'ADD writes :one',
      ExpressionAttributeValues: { ':one': { N: '1' } },
    }),
  )
