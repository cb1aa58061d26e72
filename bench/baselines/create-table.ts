import {
  CreateTableCommand,
  type CreateTableCommandInput,
  type DynamoDBClient,
} from '@aws-sdk/client-dynamodb'

type Table = Pick<CreateTableCommandInput, 'GlobalSecondaryIndexes'> & {
  readonly attributes: Readonly<Record<string, 'S' | 'N'>>
  readonly keys: readonly string[]
}

export const keySchema = (names: readonly string[]) =>
  names.map((AttributeName, i) => ({
    AttributeName,
    KeyType: i === 0 ? ('HASH' as const) : ('RANGE' as const),
  }))

/** A table that is not PushPop's. */
export const createTable = (
  dynamodb: DynamoDBClient,
  TableName: string,
  { attributes, keys, ...more }: Table,
): Promise<unknown> =>
  dynamodb.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: Object.entries(attributes).map(([AttributeName, AttributeType]) => ({
        AttributeName,
        AttributeType,
      })),
      KeySchema: keySchema(keys),
      ...more,
    }),
  )
