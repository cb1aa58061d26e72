import { RequestError } from './request-error.ts'

/** No revision has it: a tag that is not one of ours never matches. */
const NO_REVISION = -1
const NO_TAG = String(NO_REVISION)

/** The revision that a configuration must have for `If-Match` to hold; `undefined` for any. */
export async function revisionFor(
  header: string | undefined,
  currentRevision: () => Promise<number>,
): Promise<number | undefined> {
  const tag = await tagFor(header, async () => String(await currentRevision()))
  if (tag === undefined) return undefined
  return revisionForm.test(tag) ? Number(tag) : NO_REVISION
}

/**
 * The tag that it must have, without its quotes. Tags are compared strongly (RFC 9110): a weak one matches
 * nothing.
 */
export async function tagFor(
  header: string | undefined,
  currentTag: () => Promise<string>,
): Promise<string | undefined> {
  if (header === undefined || header.trim() === '*') return undefined
  const tags = header.split(',').map((tag) => tag.trim())
  if (!tags.every((tag) => tagForm.test(tag))) {
    throw new RequestError(
      'INVALID_PARAMETER',
      'If-Match must be an ETag as an answer gave it, in its quotes, or *',
      { field: 'If-Match' },
    )
  }
  const strong = tags.map((tag) => (tag.startsWith('W/') ? NO_TAG : tag.slice(1, -1)))
  if (strong.length === 1) return strong[0]
  // Of several one may match. Should the configuration change after this look, none does.
  const current = await currentTag()
  return strong.includes(current) ? current : NO_TAG
}

const tagForm = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/
const revisionForm = /^(0|[1-9]\d{0,14})$/
