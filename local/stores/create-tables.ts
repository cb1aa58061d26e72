// Makes the template's tables in the embedded DynamoDB, or compares them with those of an earlier start.

import { setTimeout as delay } from 'node:timers/promises'
import { StartError } from '../start-error.ts'
import { isObject } from '../template/assembly.ts'
import type { TablePlan } from '../template/plan-stores.ts'
import { type DynamodbApi, DynamodbError } from './dynamodb-api.ts'
import type { StoreEndpoints } from './store-environment.ts'

type CreatedTable = {
  readonly name: string
  readonly streamArn?: string | undefined
  /** It was there from an earlier start. */
  readonly isOld: boolean
}

export async function createTable(
  dynamodb: DynamodbApi,
  plan: TablePlan,
  elsewhere: Partial<StoreEndpoints> = {},
): Promise<CreatedTable> {
  const existing = await describe(dynamodb, plan.name)
  if (existing) refuseAnother(existing, plan, elsewhere)
  else await create(dynamodb, plan)
  const table = await whenActive(dynamodb, plan.name)
  if (plan.timeToLiveAttribute) await enableTimeToLive(dynamodb, plan)
  return {
    name: plan.name,
    isOld: existing !== undefined,
    ...(typeof table.LatestStreamArn === 'string' && { streamArn: table.LatestStreamArn }),
  }
}

async function create(dynamodb: DynamodbApi, { name, definition }: TablePlan): Promise<void> {
  try {
    await dynamodb('CreateTable', definition)
  } catch (error) {
    if (!(error instanceof DynamodbError)) throw error
    throw new StartError(`Cannot make the table ${name} because ${error.message}`)
  }
}

type Description = Readonly<Record<string, unknown>>

async function describe(dynamodb: DynamodbApi, name: string): Promise<Description | undefined> {
  try {
    const { Table } = await dynamodb('DescribeTable', { TableName: name })
    return isObject(Table) ? Table : undefined
  } catch (error) {
    if (error instanceof DynamodbError && error.code === 'ResourceNotFoundException') {
      return undefined
    }
    throw error
  }
}

/** The embedded one is active at once; DynamoDB Local takes a moment. */
async function whenActive(dynamodb: DynamodbApi, name: string): Promise<Description> {
  for (let attempt = 1; attempt <= 100; attempt++) {
    const table = await describe(dynamodb, name)
    if (table?.TableStatus === 'ACTIVE') return table
    await delay(20)
  }
  throw new StartError(`Cannot use the table ${name} because it does not become active`)
}

async function enableTimeToLive(dynamodb: DynamodbApi, plan: TablePlan): Promise<void> {
  const { timeToLiveAttribute, name } = plan
  const { TimeToLiveDescription } = await dynamodb('DescribeTimeToLive', { TableName: name })
  if (isObject(TimeToLiveDescription) && TimeToLiveDescription.AttributeName !== undefined) return
  await dynamodb('UpdateTimeToLive', {
    TableName: name,
    TimeToLiveSpecification: { AttributeName: timeToLiveAttribute, Enabled: true },
  })
}

/** We cannot use a table with other keys, and must not write into it. */
function refuseAnother(
  existing: Description,
  plan: TablePlan,
  { dynamodbEndpoint }: Partial<StoreEndpoints>,
): void {
  const hasStream = existing.LatestStreamArn !== undefined
  if (shapeOf(existing) === shapeOf(plan.definition) && hasStream === plan.hasStream) return
  throw new StartError(
    dynamodbEndpoint === undefined
      ? `Cannot use the table ${plan.name} because the data folder has it with other keys, indexes or ` +
          'stream than the template; choose another folder with --data, or delete this one'
      : `Cannot use the table ${plan.name} because the DynamoDB at ${dynamodbEndpoint} has it with other keys, ` +
          'indexes or stream than the template; delete it there',
  )
}

function shapeOf(table: Description): string {
  const indexes = ['GlobalSecondaryIndexes', 'LocalSecondaryIndexes'].flatMap((kind) =>
    (Array.isArray(table[kind]) ? table[kind] : [])
      .filter(isObject)
      .map(({ IndexName, KeySchema }) => `${kind} ${IndexName} ${keysOf(KeySchema)}`),
  )
  return [keysOf(table.KeySchema), ...indexes.sort()].join('\n')
}

function keysOf(schema: unknown): string {
  return (Array.isArray(schema) ? schema : [])
    .filter(isObject)
    .map(({ AttributeName, KeyType }) => `${KeyType} ${AttributeName}`)
    .sort()
    .join(' ')
}
