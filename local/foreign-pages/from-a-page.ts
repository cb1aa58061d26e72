import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback, nameIn } from './loopback.ts'

/**
 * Only the stack's own processes call the embedded S3 and the event buses. Both refuse every request that a
 * browser sends, wherever its page is from.
 */
export function isFromAPage({ host = '', ...headers }: IncomingHttpHeaders): boolean {
  const name = nameIn(host)
  return (
    name === undefined ||
    !isLoopback(name) ||
    headers.origin !== undefined ||
    headers['sec-fetch-site'] !== undefined
  )
}

export const NOT_FOR_PAGES =
  'This address is for the processes of the local stack, not for web pages'
