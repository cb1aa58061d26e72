import { REGION } from '../template/identities.ts'

export type StoreEndpoints = {
  readonly dynamodbEndpoint: string
  readonly s3Endpoint: string
  /** Only a whole stack has queues. */
  readonly sqsEndpoint?: string | undefined
  /** Absent for the embedded stores, which keep nobody out. */
  readonly credentials?: StoreCredentials | undefined
}

export type StoreCredentials = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** s3rver knows this key and no other; dynoxide takes any. */
const embeddedCredentials: StoreCredentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }

export const credentialsOf = ({ credentials }: Pick<StoreEndpoints, 'credentials'>) =>
  credentials ?? embeddedCredentials

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Stores that somebody else has started. A process has one key for all its stores, and s3rver takes only its own: so the
 * environment's key is for an S3 of somebody else. A DynamoDB alone has to take any key, as DynamoDB Local does.
 */
export function storesElsewhere(environment: Environment): Partial<StoreEndpoints> {
  const { PUSHPOP_DYNAMODB_ENDPOINT, PUSHPOP_S3_ENDPOINT, AWS_SESSION_TOKEN } = environment
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment
  const hasKey = PUSHPOP_S3_ENDPOINT && accessKeyId && secretAccessKey
  return {
    ...(PUSHPOP_DYNAMODB_ENDPOINT && { dynamodbEndpoint: PUSHPOP_DYNAMODB_ENDPOINT }),
    ...(PUSHPOP_S3_ENDPOINT && { s3Endpoint: PUSHPOP_S3_ENDPOINT }),
    ...(hasKey && {
      credentials: {
        accessKeyId,
        secretAccessKey,
        ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
      },
    }),
  }
}

/** Environment variables that make a process's AWS SDK clients use these stores. */
export function storeEnvironment(endpoints: StoreEndpoints): Record<string, string> {
  const { accessKeyId, secretAccessKey, sessionToken } = credentialsOf(endpoints)
  return {
    AWS_REGION: REGION,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    ...(sessionToken !== undefined && { AWS_SESSION_TOKEN: sessionToken }),
    // Addresses, not names: only then does the SDK put a bucket's name into the path by itself.
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodbEndpoint,
    AWS_ENDPOINT_URL_S3: endpoints.s3Endpoint,
    ...(endpoints.sqsEndpoint !== undefined && { AWS_ENDPOINT_URL_SQS: endpoints.sqsEndpoint }),
  }
}
