// The client follows no redirect: a token or signature is meant only for the given address, and following some
// redirects would turn a POST into a GET.

import { PushPopError } from './errors.ts'

type Redirected = Pick<Response, 'type' | 'status' | 'headers'>

/** A browser tells a page only that there was a redirect: no status, no headers. */
export const isRedirect = ({ type, status }: Redirected): boolean =>
  type === 'opaqueredirect' || (status >= 300 && status < 400)

/** PushPop never redirects: another server did, and did not carry out the call. */
export function redirected(url: URL, answer: Redirected): PushPopError {
  const to = originIn(answer.headers.get('location'), url) ?? 'another address'
  return new PushPopError(
    'UNEXPECTED_ANSWER',
    `Cannot ask ${url.origin} because it redirects to ${to}, and a redirect is not followed; ` +
      'give the address that PushPop itself answers at',
    answer.status === 0 ? {} : { status: answer.status },
  )
}

/** Only its origin: the rest may be a secret, such as the state of single sign-on. */
function originIn(location: string | null, base: URL): string | undefined {
  if (location === null) return undefined
  try {
    const { protocol, origin } = new URL(location, base)
    return /^https?:$/.test(protocol) ? origin : undefined
  } catch {
    return undefined
  }
}
