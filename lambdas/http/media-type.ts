import { RequestError } from './request-error.ts'

/**
 * `json` accepts only that. `json-or-curl` also accepts the command for a late acknowledgement from PushPop's source
 * documents, which promise that it works: `curl -d '{…}'` without a header, which curl sends as a form.
 */
export type MediaTypes = 'json' | 'json-or-curl'

type Headers = Readonly<Record<string, string | undefined>>

/** Checks a body's declared type before we read it. */
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

/** If a form-typed body is not a JSON object, it is a form. */
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
