import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { cannotSendCredentials, isSafeForCredentials } from '../../client/auth.ts'
import { type Auth, PushPopError } from '../../client/index.ts'
import { messageOf, wrongUsage } from '../failure.ts'
import type { Place } from './open-target.ts'
import type { AwsSettings } from './store-target.ts'

export function httpAuth(
  { url, auth }: Extract<Place, { kind: 'http' }>,
  aws: AwsSettings,
  token: string | undefined,
): Auth {
  const base = new URL(url)
  if (auth !== 'none' && !isSafeForCredentials(base)) {
    throw wrongUsage(`${cannotSendCredentials(base)}, or --auth none`)
  }
  switch (auth) {
    case 'none':
      return { kind: 'none' }
    case 'token':
      // The token is not an option, because every process on a machine can read the options of the others.
      if (!token) throw wrongUsage('--auth token needs the token in the variable PUSHPOP_TOKEN')
      return { kind: 'token', token }
    case 'iam':
      return iamAuth(url, aws)
    default:
      return auth satisfies never
  }
}

/**
 * The SDK's client knows how to find credentials: environment, profile, single sign-on, a role. We ask
 * it for them and never send anything with it; so no other package is needed.
 */
function iamAuth(url: string, aws: AwsSettings): Auth {
  const sdk = new DynamoDBClient(aws)
  const region = aws.region ?? regionIn(url)
  return {
    kind: 'iam',
    credentials: () => sdk.config.credentials().catch(noCredentials),
    region,
  }
}

/** Where a person waits, nobody asks again: most likely there are none. */
function noCredentials(cause: unknown): never {
  const message = `Cannot get the AWS credentials: ${messageOf(cause)}`
  throw new PushPopError('UNAUTHORIZED', message, { cause })
}

/**
 * The client reads the region from an address of API Gateway. Behind your own domain name it comes
 * from the environment, as for the AWS CLI.
 */
function regionIn(url: string): string | undefined {
  if (/\.execute-api\./.test(new URL(url).hostname)) return undefined
  const region = process.env.AWS_REGION || process.env.AWS_DEFAULT_REGION
  if (region) return region
  throw wrongUsage(`Cannot sign for ${url} because its name tells no AWS region; give --region`)
}
