import { RequestError } from './request-error.ts'

/** The revision that a configuration must have for `If-Match` to hold; `undefined` for any. */
export async function revisionFor(
  header: string | undefined,
  currentRevision: () => Promise<number>,
): Promise<number | undefined> {
  const current = async () => String(await currentRevision())
  const tag = await tagFor(header, current)
  if (tag === undefined) return undefined
  if (!revisionForm.test(tag)) throw noMatch(await current())
  return Number(tag)
}

/**
 * The required tag, without its quotes. We compare tags strongly (RFC 9110): a weak one matches nothing.
 */
export async function tagFor(
  header: string | undefined,
  currentTag: () => Promise<string | undefined>,
): Promise<string | undefined> {
  if (header === undefined || isAny(header)) return undefined
  const tags = header.split(',').map((tag) => tag.trim())
  if (!tags.every((tag) => tagForm.test(tag))) {
    throw new RequestError(
      'INVALID_PARAMETER',
      'If-Match must be an ETag as an answer gave it, in its quotes, or *',
      { field: 'If-Match' },
    )
  }
  const strong = tags.filter((tag) => !tag.startsWith('W/')).map((tag) => tag.slice(1, -1))
  // `"*"` is a tag that nothing has; without its quotes it would mean any.
  if (tags.length === 1 && strong.length === 1 && strong[0] !== '*') return strong[0]
  // One of several may match. If the current tag changes after this look, none does.
  const current = await currentTag()
  if (current !== undefined && strong.includes(current)) return current
  throw noMatch(current)
}

/** Whether the header only requires that something exists. */
export const isAny = (header: string): boolean => header.trim() === '*'

export const noMatch = (current: string | undefined): RequestError =>
  new RequestError(
    'VERSION_MISMATCH',
    current === undefined
      ? 'Nothing was changed because If-Match names an ETag, and there is nothing here yet'
      : `Nothing was changed because If-Match does not name the ETag, which is "${current}"`,
    { field: 'If-Match' },
  )

const tagForm = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/
const revisionForm = /^(0|[1-9]\d{0,14})$/
