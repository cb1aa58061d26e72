/** What failed, where a client has another request handler than ours: each comes before any sending. */
const callsBeforeSending = new Set(['getaddrinfo', 'connect'])
/** A code such as `EHOSTUNREACH` is not here: an established connection may fail with it as well. */
const codesBeforeSending = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ERR_SOCKET_CONNECTION_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  // The certificate of the other end is not trusted.
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/**
 * Whether there was no connection to send anything over, as Node says it. Not by the SDK's own time-out of
 * connecting: that is a `TimeoutError` without a code, as is its time-out of a silent socket, and in older
 * versions that of any request.
 */
export function isUnsent(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { errors, code, syscall } = error as Readonly<Record<string, unknown>>
  // One for each address of the host.
  if (Array.isArray(errors)) return errors.length > 0 && errors.every(isUnsent)
  return callsBeforeSending.has(String(syscall)) || codesBeforeSending.has(String(code))
}
