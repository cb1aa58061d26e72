import { describe, expect, it } from 'vitest'
import { tableDefinition } from '../../lambdas/foundation/table.ts'
import { synthesised } from './synthesised.ts'

const kept = synthesised()
const throwaway = synthesised({ throwaway: 'true' })
const tableOf = ({ resources }: typeof kept) => resources.StorageTable
const bucketOf = ({ resources }: typeof kept) => resources.StorageSegments

const keys = (partition: string, sort: string) => [
  { AttributeName: partition, KeyType: 'HASH' },
  { AttributeName: sort, KeyType: 'RANGE' },
]

describe('The table', () => {
  const table = tableOf(kept)?.Properties

  it('has the keys and the sparse indexes that the engine asks for, and no other.', () => {
    const { partitionKey, sortKey, indexes } = tableDefinition
    expect(table.KeySchema).toEqual(keys(partitionKey.name, sortKey.name))
    expect(table.GlobalSecondaryIndexes).toEqual(
      indexes.map(({ name, partitionKey, sortKey }) => ({
        IndexName: name,
        KeySchema: keys(partitionKey.name, sortKey.name),
        // A write that changes none of the keys costs nothing there.
        Projection: { ProjectionType: 'KEYS_ONLY' },
      })),
    )
    const named = [partitionKey, sortKey, ...indexes.flatMap((i) => [i.partitionKey, i.sortKey])]
    expect(table.AttributeDefinitions).toEqual(
      [...new Map(named.map((key) => [key.name, key.type]))].map(
        ([AttributeName, AttributeType]) => ({ AttributeName, AttributeType }),
      ),
    )
  })

  it('is paid for by the request, and lets receipts expire.', () => {
    expect(table.BillingMode).toBe('PAY_PER_REQUEST')
    expect(table.TimeToLiveSpecification).toEqual({ AttributeName: 'ttl', Enabled: true })
  })

  it('streams both images, which a filter on transitions needs.', () => {
    expect(table.StreamSpecification).toEqual({ StreamViewType: 'NEW_AND_OLD_IMAGES' })
  })

  it('can be restored to any second of the last 35 days.', () => {
    expect(table.PointInTimeRecoverySpecification).toEqual({
      PointInTimeRecoveryEnabled: true,
      RecoveryPeriodInDays: 35,
    })
  })

  // Nor by CloudFormation, where the first deployment fails: asked to, it would be stuck in its rollback.
  it('outlives its stack and cannot be deleted by mistake.', () => {
    expect(table.DeletionProtectionEnabled).toBe(true)
    expect(tableOf(kept)?.DeletionPolicy).toBe('Retain')
    expect(tableOf(kept)?.UpdateReplacePolicy).toBe('Retain')
  })

  it('goes with its stack where that is for throwing away.', () => {
    expect(tableOf(throwaway)?.Properties.DeletionProtectionEnabled).toBe(false)
    expect(tableOf(throwaway)?.DeletionPolicy).toBe('Delete')
  })
})

describe('The bucket', () => {
  const bucket = bucketOf(kept)?.Properties

  it('is closed to the public, and encrypted.', () => {
    expect(bucket.PublicAccessBlockConfiguration).toEqual({
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    })
    expect(bucket.BucketEncryption.ServerSideEncryptionConfiguration).toEqual([
      { ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } },
    ])
  })

  it('refuses whatever does not come over TLS, and its policy allows nothing.', () => {
    const { Statement } = kept.resources.StorageSegmentsPolicy?.Properties.PolicyDocument ?? {}
    expect(Statement).toHaveLength(1)
    expect(Statement[0]).toMatchObject({
      Effect: 'Deny',
      Action: 's3:*',
      Principal: { AWS: '*' },
      Condition: { Bool: { 'aws:SecureTransport': 'false' } },
    })
  })

  it('keeps deleted segments as long as the table can be restored, and no upload unfinished.', () => {
    expect(bucket.VersioningConfiguration).toEqual({ Status: 'Enabled' })
    expect(bucket.LifecycleConfiguration.Rules).toEqual([
      {
        Id: 'unfinished-uploads',
        Status: 'Enabled',
        AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
      },
      {
        Id: 'deleted-segments',
        Status: 'Enabled',
        NoncurrentVersionExpiration: { NoncurrentDays: 35 },
        ExpiredObjectDeleteMarker: true,
      },
    ])
  })

  it('outlives its stack, unless that is for throwing away.', () => {
    // Where the first deployment fails it is empty, and goes.
    expect(bucketOf(kept)?.DeletionPolicy).toBe('RetainExceptOnCreate')
    expect(bucketOf(kept)?.UpdateReplacePolicy).toBe('Retain')
    expect(bucketOf(throwaway)?.DeletionPolicy).toBe('Delete')
    expect(bucketOf(throwaway)?.Properties.VersioningConfiguration).toBeUndefined()
    expect(kept.ofType('Custom::S3AutoDeleteObjects')).toEqual([])
    expect(throwaway.ofType('Custom::S3AutoDeleteObjects')).toHaveLength(1)
  })
})
