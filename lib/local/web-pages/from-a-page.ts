import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback, readHost } from './loopback.ts'

/**
 * For what only the stack's own processes call, the embedded S3 and the event buses: whatever a browser
 * sends has no business there, wherever its page is from.
 */
export function isFromAPage({ host = '', ...headers }: IncomingHttpHeaders): boolean {
  const asked = readHost(host)
  return (
    asked === undefined ||
    !isLoopback(asked.name) ||
    headers.origin !== undefined ||
    headers['sec-fetch-site'] !== undefined
  )
}

export const NOT_FOR_PAGES =
  'This address is for the processes of the local stack, not for web pages'
