/** Something that the user can fix: we print the sentence alone, without a stack trace. */
export class StartError extends Error {
  override name = 'StartError'
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
