// What all calls over HTTP share: the credentials, how Ctrl-C ends them, and what to tell a person where nobody
// answers.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { cannotSendCredentials, isSafeForCredentials } from '../../client/auth.ts'
import { connect } from '../../client/connect.ts'
import { type Auth, isOutcomeUnknown, isPushPopError, PushPopError } from '../../client/index.ts'
import type { Send } from '../../client/transport.ts'
import { exitCodes, Failure, hasCode, interrupted, messageOf, wrongUsage } from '../failure.ts'
import type { AwsSettings, HttpPlace } from './place.ts'
import type { Target } from './target.ts'

export function httpAuth(
  { url, auth }: HttpPlace,
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

/** `send` ends with Ctrl-C, and says what to do where nobody answers; `sendAnyway` goes on. */
export function connectTo(
  place: HttpPlace,
  aws: AwsSettings,
  token: string | undefined,
  interrupt: AbortSignal,
): { readonly send: Send; readonly sendAnyway: Send } {
  const { send: sendAnyway } = connect({ url: place.url, auth: httpAuth(place, aws, token) })
  const send: Send = async (call) => {
    try {
      return await sendAnyway({ ...call, signal: interrupt })
    } catch (error) {
      if (!isPushPopError(error, 'ABORTED')) throw whereNobodyAnswers(place.url, error)
      throw interrupted(
        isOutcomeUnknown(error) ? 'Stopped; it may have been done anyway.' : 'Stopped.',
      )
    }
  }
  return { send, sendAnyway }
}

/** Errors of a connection that was never made: nothing was sent, and nothing changed. */
const neverMade = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'CERT_HAS_EXPIRED']

/** The same target, which says what to do where nothing answers at its address. */
export function reachable(url: string, target: Target): Target {
  const told = (error: unknown) => whereNobodyAnswers(url, error)
  const entries = Object.entries(target).map(([name, member]) => {
    if (typeof member !== 'function' || name === 'queues' || name === 'close') return [name, member]
    const call = member as (...args: unknown[]) => Promise<unknown>
    const wrapped = (...args: unknown[]) =>
      call(...args).catch((error: unknown) => {
        throw told(error)
      })
    return [name, wrapped]
  })
  return {
    ...(Object.fromEntries(entries) as Target),
    async *queues(request) {
      try {
        yield* target.queues(request)
      } catch (error) {
        throw told(error)
      }
    },
  }
}

/** The error itself, or what to do where nothing answers. */
export const whereNobodyAnswers = (url: string, error: unknown): unknown =>
  isUnmade(error) ? nothingThere(url, error) : error

function isUnmade(error: unknown): boolean {
  if (!isPushPopError(error, 'NETWORK_ERROR')) return false
  // An earlier attempt has sent something, whatever happened to the last one.
  if (error.outcome === 'unknown' && error.attempts > 1) return false
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (neverMade.some((code) => hasCode(cause, code))) return true
    if (cause instanceof AggregateError) {
      return cause.errors.every((one) => neverMade.some((code) => hasCode(one, code)))
    }
  }
  return false
}

const START_PORT = '8000'

/** What `start` has to be told to listen there. */
function portOf(url: string): string {
  const { port } = new URL(url)
  return port === '' || port === START_PORT ? '' : ` --port ${port}`
}

const nothingThere = (url: string, cause: unknown): Failure =>
  new Failure(
    exitCodes.failed,
    `Cannot reach ${url} because nothing answers there; start it with "pushpop start${portOf(url)}", ` +
      'or name another with --endpoint or PUSHPOP_ENDPOINT',
    { code: 'NETWORK_ERROR', cause: new Error('never sent', { cause }) },
  )
