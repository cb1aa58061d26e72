import { StartError } from '../start-error.ts'

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
