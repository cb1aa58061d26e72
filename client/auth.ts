import {
  checkFields,
  checkOptions,
  type Names,
} from '../lambdas/foundation/shared/known-options.ts'
import { cannotSendCredentials, isSafeForCredentials } from './address.ts'
import { PushPopError } from './errors.ts'
import { type AwsCredentials, signedHeaders } from './sigv4.ts'

export type Provided<T> = T | (() => T | Promise<T>)

/** How a request proves who sends it. We call a function for each request; it may cache. */
export type Auth =
  | {
      readonly kind: 'iam'
      readonly credentials: Provided<AwsCredentials>
      /** Default: taken from `….execute-api.REGION.amazonaws.com`. */
      readonly region?: string | undefined
    }
  | { readonly kind: 'token'; readonly token: Provided<string> }
  | { readonly kind: 'none' }

export type UnsignedRequest = {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** Returns a request's headers together with those that prove who sends it. */
export type Authorise = (request: UnsignedRequest) => Promise<Readonly<Record<string, string>>>

type OfKind<Kind extends Auth['kind']> = Extract<Auth, { readonly kind: Kind }>
const namesOf: { readonly [Kind in Auth['kind']]: Names<OfKind<Kind>> } = {
  none: { kind: 0 },
  token: { kind: 0, token: 0 },
  iam: { kind: 0, credentials: 0, region: 0 },
}

/** In JavaScript, no compiler checks this, and the service could only refuse `Bearer undefined` without a reason. */
function checkAuth(auth: Auth): void {
  checkFields(auth, undefined, 'auth')
  const names = Object.hasOwn(namesOf, auth.kind) ? namesOf[auth.kind] : undefined
  if (names === undefined) {
    throw new TypeError(
      `auth.kind must be 'iam', 'token' or 'none', and is ${JSON.stringify(auth.kind)}`,
    )
  }
  checkOptions(auth, names, 'auth')
  const [missing] =
    Object.entries({
      ...(auth.kind === 'token' && { token: auth.token }),
      ...(auth.kind === 'iam' && { credentials: auth.credentials }),
    }).find(([, value]) => value === undefined) ?? []
  if (missing !== undefined) {
    throw new TypeError(`auth.${missing} is missing, which auth.kind '${auth.kind}' needs`)
  }
}

export function authoriser(auth: Auth, base: URL, nowMs: () => number): Authorise {
  checkAuth(auth)
  if (auth.kind !== 'none' && !isSafeForCredentials(base)) {
    throw new TypeError(`${cannotSendCredentials(base)}, or auth: { kind: 'none' }`)
  }
  switch (auth.kind) {
    case 'none':
      return async ({ headers }) => headers
    case 'token':
      return async ({ headers }) => {
        const token = await provided(auth.token, 'the token')
        return { ...headers, authorization: `Bearer ${token}` }
      }
    case 'iam': {
      const region = auth.region ?? regionOf(base.hostname)
      return async (request) => {
        const credentials = await provided(auth.credentials, 'the AWS credentials')
        return signedHeaders({ ...request, credentials, region, nowMs: nowMs() })
      }
    }
    default:
      throw auth satisfies never
  }
}

const executeApi = /\.execute-api\.([a-z0-9-]+)\.(amazonaws\.com(\.cn)?|api\.aws)$/

function regionOf(hostname: string): string {
  const region = executeApi.exec(hostname)?.[1]
  if (region !== undefined) return region
  throw new TypeError(
    `Cannot sign for ${hostname} because its name does not tell the AWS region: give auth.region (in a Lambda function, process.env.AWS_REGION)`,
  )
}

async function provided<T>(value: Provided<T>, what: string): Promise<T> {
  if (typeof value !== 'function') return value
  try {
    return await (value as () => T | Promise<T>)()
  } catch (cause) {
    if (cause instanceof PushPopError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    // A metadata service or an issuer may be away for a moment, which should not end the work of a consumer.
    const details = { cause, retryable: true }
    throw new PushPopError('UNAUTHORIZED', `Cannot get ${what}: ${reason}`, details)
  }
}
