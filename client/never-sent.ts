/** What Node's fetch says when there was no connection to send anything over. A browser does not say. */
const codes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Of several addresses of one name none may have been reached by more than an attempt. */
export function wasNeverSent(error: unknown): boolean {
  const { cause } = (error ?? {}) as { readonly cause?: unknown }
  if (typeof cause !== 'object' || cause === null) return false
  const { errors, code } = cause as { readonly errors?: unknown; readonly code?: unknown }
  const all = Array.isArray(errors) ? errors.map((one: { code?: unknown }) => one?.code) : [code]
  return all.length > 0 && all.every((one) => codes.has(String(one)))
}
