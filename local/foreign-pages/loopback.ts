import { isIPv4 } from 'node:net'

/**
 * Names and addresses that every program takes for this machine. Not the names below localhost: some
 * browsers and Node ask a name server for them.
 */
export function isLoopback(name: string): boolean {
  const lower = name.toLowerCase()
  if (lower === 'localhost' || lower === '[::1]') return true
  return isIPv4(lower) && lower.startsWith('127.')
}

/** Of a Host header: `localhost:8000`, `[::1]`. */
export const nameIn = (header: string): string | undefined =>
  /^([\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.exec(header)?.[1]

export function isLoopbackOrigin(origin: string): boolean {
  const url = URL.parse(origin)
  // Nothing but the origin: Node joins two such headers with a comma, which parses as an odd name.
  return url !== null && url.origin === origin && isLoopback(url.hostname)
}
