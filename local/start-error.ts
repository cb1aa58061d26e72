/** What the person at the keyboard can do something about: printed as it is, without a stack. */
export class StartError extends Error {
  override name = 'StartError'
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
