import { type ExitCode, exitCodes } from '../exit-codes.ts'

type Told = { readonly exitCode: ExitCode; readonly sentence: string; readonly code: string }

const notThere = new Set(['ResourceNotFoundException', 'NoSuchBucket'])
const notAllowed = new Set([
  'AccessDenied',
  'AccessDeniedException',
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidAccessKeyId',
  'InvalidSignatureException',
  'SignatureDoesNotMatch',
  'UnrecognizedClientException',
])

/**
 * AWS errors that the engine passes on: the request is wrong or not allowed, and the person can do something about
 * it. We tell them apart by name, never by text, except for a missing region, for which the SDK throws a plain error.
 */
export function awsError(error: unknown): Told | undefined {
  if (!(error instanceof Error)) return undefined
  const { name, message } = error
  if (isRegionMissing(error)) {
    const sentence = 'Cannot tell the AWS region; give --region, or set AWS_REGION'
    return { exitCode: exitCodes.wrongUsage, code: 'REGION_MISSING', sentence }
  }
  if (name === 'CredentialsProviderError') {
    const sentence = `Cannot find AWS credentials: ${oneLine(message)}`
    return { exitCode: exitCodes.refused, code: name, sentence }
  }
  if (!('$metadata' in error)) return undefined
  if (notThere.has(name)) {
    const sentence = 'There is no such table or bucket here; check --table, --bucket and --region'
    return { exitCode: exitCodes.wrongUsage, code: name, sentence }
  }
  const exitCode = notAllowed.has(name) ? exitCodes.refused : exitCodes.failed
  return { exitCode, code: name, sentence: `AWS refused it (${name}): ${oneLine(message)}` }
}

const isRegionMissing = (error: unknown): boolean =>
  error instanceof Error && /^Region (is missing|not accepted)/.test(error.message)

export const isUnsent = (error: unknown): boolean =>
  isRegionMissing(error) || (error instanceof Error && error.name === 'CredentialsProviderError')

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()
