// Where the queues are, read from options and environment: an address and how to sign for it, or a table and its
// bucket.

import { isLoopback } from '../../client/auth.ts'
import { present } from '../../shared/wire.ts'
import { ENDPOINT_STANDARD, type Given, type TargetOptions } from '../command.ts'
import { wrongUsage } from '../failure.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export type HttpPlace = {
  readonly kind: 'http'
  readonly url: string
  readonly auth: 'iam' | 'token' | 'none'
  /** How it was named on the command line, for a line to copy. */
  readonly asTyped: string
}

export type StorePlace = {
  readonly kind: 'store'
  readonly table: string
  readonly bucket: string
  readonly asTyped: string
}

/** Where the queues are, from options and environment; an option wins. */
export type Place = HttpPlace | StorePlace

export function placeOf(given: Given<TargetOptions>, env: Environment): Place {
  if (given.endpoint !== undefined && (given.table ?? given.bucket) !== undefined) {
    throw wrongUsage('--endpoint and --table contradict each other: give one of them')
  }
  const isStore = (given.table ?? given.bucket) !== undefined
  const fromEnvironment = given.endpoint === undefined && !env.PUSHPOP_ENDPOINT
  const table = given.table ?? (isStore || fromEnvironment ? env.PUSHPOP_TABLE : undefined)
  if (isStore || table) return storeOf(given, env, table)

  const url = given.endpoint ?? (env.PUSHPOP_ENDPOINT || ENDPOINT_STANDARD)
  checkUrl(url)
  return {
    kind: 'http',
    url: url.replace(/\/+$/, ''),
    auth: given.auth ?? usualAuth(url, env),
    asTyped:
      (given.endpoint === undefined ? '' : ` --endpoint ${url}`) +
      (given.auth === undefined ? '' : ` --auth ${given.auth}`),
  }
}

function storeOf(
  given: Given<TargetOptions>,
  env: Environment,
  table: string | undefined,
): StorePlace {
  const bucket = given.bucket ?? env.PUSHPOP_BUCKET
  if (!table) throw wrongUsage('--bucket needs --table: the table that the bucket belongs to')
  if (!bucket) throw wrongUsage('--table needs --bucket: long queues and large pushes are there')
  if (given.auth !== undefined) {
    throw wrongUsage('--auth is for an endpoint; the table is asked with your AWS credentials')
  }
  const typed = given.table === undefined ? '' : ` --table ${table} --bucket ${bucket}`
  return { kind: 'store', table, bucket, asTyped: typed }
}

/** Nothing checks who calls a local stack, and a signature for it would need credentials. */
function usualAuth(url: string, { PUSHPOP_TOKEN }: Environment): 'iam' | 'token' | 'none' {
  if (PUSHPOP_TOKEN) return 'token'
  return isLoopback(new URL(url)) ? 'none' : 'iam'
}

function checkUrl(url: string): void {
  const isUrl = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  if (isUrl) return
  throw wrongUsage(
    `The endpoint must be an address such as ${ENDPOINT_STANDARD}, not ${JSON.stringify(url)}`,
  )
}

export const awsOf = ({ profile, region }: Given<TargetOptions>): AwsSettings =>
  present({ profile, region })

export type AwsSettings = { readonly profile?: string; readonly region?: string }
