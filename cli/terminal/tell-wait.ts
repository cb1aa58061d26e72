/** A person who waits this long wants to know why. */
const TOLD_FROM_MS = 1_000

export function tellWait(tell: (line: string) => void, message: string, pauseMs: number): void {
  if (pauseMs >= TOLD_FROM_MS) tell(`Waiting ${Math.ceil(pauseMs / 1_000)} s: ${message}`)
}
