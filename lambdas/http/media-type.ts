import { RequestError } from './request-error.ts'

/**
 * `json` is what it says. `json-or-curl` also takes the sources' own line for a late acknowledgement:
 * `curl -d '{…}'` without a header, which curl sends as a form, and which they promise to answer.
 */
export type MediaTypes = 'json' | 'json-or-curl'

type Headers = Readonly<Record<string, string | undefined>>

/** Checks what a body says it is, before we read it. */
export function checkMediaType(headers: Headers, accepted: MediaTypes): void {
  const [type = '', ...parameters] = (headers['content-type'] ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase())
  const isJson = type === 'application/json' && parameters.every(isUtf8)
  const isCurl = accepted === 'json-or-curl' && type === FORM
  const coding = headers['content-encoding'] ?? 'identity'
  if ((isJson || isCurl) && coding.trim().toLowerCase() === 'identity') return
  throw unsupported()
}

const FORM = 'application/x-www-form-urlencoded'

const isUtf8 = (parameter: string): boolean =>
  !parameter.startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter)

/** A body that is called a form and is no JSON object is really a form. */
export function checkNoForm(headers: Headers, text: string): void {
  const isForm = headers['content-type']?.trim().toLowerCase().startsWith(FORM)
  if (isForm && !text.trimStart().startsWith('{')) throw unsupported()
}

const unsupported = (): RequestError =>
  new RequestError(
    'UNSUPPORTED_MEDIA_TYPE',
    'A body must be sent as Content-Type: application/json, in UTF-8 and not compressed',
    { field: 'Content-Type' },
  )
