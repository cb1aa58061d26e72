import { RequestError } from './request-error.ts'

/** No revision has it: a tag that is not one of ours never matches. */
const NO_REVISION = -1

/**
 * The revision that a configuration must have for `If-Match` to hold; `undefined` for any. Tags are
 * compared strongly (RFC 9110): a weak one matches nothing.
 */
export async function revisionFor(
  header: string | undefined,
  currentRevision: () => Promise<number>,
): Promise<number | undefined> {
  if (header === undefined || header.trim() === '*') return undefined
  const tags = header.split(',').map((tag) => tag.trim())
  if (!tags.every((tag) => tagForm.test(tag))) {
    throw new RequestError(
      'INVALID_PARAMETER',
      'If-Match must be an ETag as an answer gave it, in its quotes, or *',
      { field: 'If-Match' },
    )
  }
  const revisions = tags.map(revisionOf)
  if (revisions.length === 1) return revisions[0]
  // Of several one may match. Should the configuration change after this look, none does.
  const current = await currentRevision()
  return revisions.includes(current) ? current : NO_REVISION
}

const tagForm = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/
const revisionForm = /^"(0|[1-9]\d{0,14})"$/

function revisionOf(tag: string): number {
  const match = revisionForm.exec(tag)
  return match === null ? NO_REVISION : Number(match[1])
}
