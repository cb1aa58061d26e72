import { isObject } from './assembly.ts'
import { objectOf } from './property-values.ts'
import type { ResolvedResource, Resources } from './resources.ts'

export type TablePlan = {
  readonly logicalId: string
  readonly name: string
  /** The input of CreateTable. */
  readonly definition: Readonly<Record<string, unknown>>
  readonly timeToLiveAttribute?: string | undefined
  readonly hasStream: boolean
}

export function planTables(resources: Resources): TablePlan[] {
  return resources.ofType('AWS::DynamoDB::Table').map((table) => {
    const { StreamViewType } = objectOf(table, 'StreamSpecification')
    const { AttributeName, Enabled } = objectOf(table, 'TimeToLiveSpecification')
    return {
      logicalId: table.logicalId,
      name: table.ref,
      definition: definitionOf(table, StreamViewType),
      ...(AttributeName !== undefined &&
        Enabled !== false &&
        Enabled !== 'false' && { timeToLiveAttribute: String(AttributeName) }),
      hasStream: StreamViewType !== undefined,
    }
  })
}

/**
 * The settings that the embedded DynamoDB can use. The rest (encryption, recovery, protection, tags) makes
 * no difference on one machine, or is unknown there.
 */
function definitionOf(table: ResolvedResource, streamViewType: unknown) {
  return {
    TableName: table.ref,
    AttributeDefinitions: table.property('AttributeDefinitions'),
    KeySchema: table.property('KeySchema'),
    ...indexes(table, 'GlobalSecondaryIndexes'),
    ...indexes(table, 'LocalSecondaryIndexes'),
    BillingMode: 'PAY_PER_REQUEST',
    ...(streamViewType !== undefined && {
      StreamSpecification: { StreamEnabled: true, StreamViewType: streamViewType },
    }),
  }
}

function indexes(table: ResolvedResource, name: string) {
  const list = table.property(name)
  if (!Array.isArray(list) || list.length === 0) return {}
  return {
    [name]: list.filter(isObject).map(({ IndexName, KeySchema, Projection }) => ({
      IndexName,
      KeySchema,
      Projection,
    })),
  }
}

export function planBuckets(resources: Resources): string[] {
  return resources.ofType('AWS::S3::Bucket').map(({ ref }) => ref)
}
