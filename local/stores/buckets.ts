// Buckets, in the embedded S3 or in somebody else's. Only the other one wants signed requests, and loads the SDK for
// them.

import type { S3Client } from '@aws-sdk/client-s3'
import { messageOf, StartError } from '../start-error.ts'
import { REGION } from '../template/identities.ts'
import { credentialsOf, type StoreEndpoints } from './store-api.ts'

export type ForeignS3 = {
  /** It is fine if the bucket is there already. */
  create(bucket: string): Promise<{ readonly isOld: boolean }>
  /** With all that is in it. */
  delete(bucket: string): Promise<void>
}

type Reached = Pick<StoreEndpoints, 's3Endpoint' | 'credentials'>

export async function foreignS3(reached: Reached): Promise<ForeignS3> {
  const { s3Endpoint: endpoint } = reached
  const { S3Client, CreateBucketCommand, HeadBucketCommand } = await import('@aws-sdk/client-s3')
  const credentials = credentialsOf(reached)
  const client = new S3Client({ region: REGION, endpoint, credentials, forcePathStyle: true })
  return {
    async create(Bucket) {
      try {
        // Some answer 200 to a second creation, and we must never delete what we did not make.
        await client.send(new HeadBucketCommand({ Bucket }))
        return { isOld: true }
      } catch (error) {
        if ((error as Error).name !== 'NotFound') throw refused(Bucket, error)
      }
      try {
        await client.send(new CreateBucketCommand({ Bucket }))
        return { isOld: false }
      } catch (error) {
        throw refused(Bucket, error)
      }
    },
    delete: (bucket) => deleteBucket(client, bucket),
  }

  function refused(bucket: string, cause: unknown): StartError {
    return new StartError(
      `Cannot make the bucket ${bucket} at ${endpoint} because of this: ${messageOf(cause)}; ` +
        'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY have to be those of that S3',
      { cause },
    )
  }
}

/** A page has a thousand keys at most, which is also what one request deletes. */
export async function deleteBucket(client: S3Client, Bucket: string): Promise<void> {
  const { DeleteBucketCommand, DeleteObjectsCommand, ListObjectsV2Command } = await import(
    '@aws-sdk/client-s3'
  )
  for (;;) {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }))
    const Objects = Contents.flatMap(({ Key }) => (Key === undefined ? [] : [{ Key }]))
    if (Objects.length === 0) break
    const { Errors = [] } = await client.send(
      new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }),
    )
    if (Errors.length === Objects.length) {
      throw new Error(`Cannot empty the bucket ${Bucket} because of this: ${Errors[0]?.Message}`)
    }
  }
  await client.send(new DeleteBucketCommand({ Bucket }))
}

/** s3rver accepts it unsigned. It is fine if the bucket is there already. */
export async function createBucket(
  s3Endpoint: string,
  name: string,
): Promise<{ readonly isOld: boolean }> {
  const response = await fetch(`${s3Endpoint}/${name}`, { method: 'PUT' })
  await response.arrayBuffer()
  if (response.ok || response.status === 409) return { isOld: !response.ok }
  throw new StartError(
    `Cannot make the bucket ${name} because the embedded S3 answered ${response.status}`,
  )
}
