/** For clients with another request handler than ours: system calls that come before anything is sent. */
const callsBeforeSending = new Set(['getaddrinfo', 'connect'])
/** A code such as `EHOSTUNREACH` is not here: an established connection may fail with it as well. */
const codesBeforeSending = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ERR_SOCKET_CONNECTION_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  // We do not trust the other end's certificate.
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/**
 * Whether there was no connection to send anything over, according to Node. The SDK's own connection timeout
 * cannot tell: it is a `TimeoutError` without a code, and so are its timeout for a silent socket and, in older
 * versions, that for any request.
 */
export function isUnsent(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { errors, code, syscall } = error as Readonly<Record<string, unknown>>
  // Node gives one error for each address of the host.
  if (Array.isArray(errors)) return errors.length > 0 && errors.every(isUnsent)
  return callsBeforeSending.has(String(syscall)) || codesBeforeSending.has(String(code))
}
