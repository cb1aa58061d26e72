// The smallest function on DynamoDB: a client and one call. The cold-start benchmark bundles it the same
// way and compares ours with it.

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
