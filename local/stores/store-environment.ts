import { REGION } from '../template/identities.ts'

export type StoreEndpoints = {
  readonly dynamodbEndpoint: string
  readonly s3Endpoint: string
  /** Only a whole stack has queues. */
  readonly sqsEndpoint?: string | undefined
}

/** s3rver knows this key and no other; dynoxide takes any. */
export const storeCredentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' } as const

/** Environment variables that make a process's AWS SDK clients use the embedded stores. */
export const storeEnvironment = (endpoints: StoreEndpoints): Record<string, string> => ({
  AWS_REGION: REGION,
  AWS_ACCESS_KEY_ID: storeCredentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: storeCredentials.secretAccessKey,
  // Addresses, not names: only then does the SDK put a bucket's name into the path by itself.
  AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodbEndpoint,
  AWS_ENDPOINT_URL_S3: endpoints.s3Endpoint,
  ...(endpoints.sqsEndpoint !== undefined && { AWS_ENDPOINT_URL_SQS: endpoints.sqsEndpoint }),
})
