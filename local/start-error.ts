// What goes wrong at a start and is no fault of ours, as a sentence.

/** Something that the user can fix: we print the sentence alone, without a stack trace. */
export class StartError extends Error {
  override name = 'StartError'
}

/** SQLite's own words do not say which file they are about. */
export const cannotUse = (file: string, cause: unknown): StartError =>
  new StartError(`Cannot use the file ${file} because of this: ${messageOf(cause)}`)

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
