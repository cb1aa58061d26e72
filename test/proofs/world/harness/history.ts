/** What happened, one line an event. Off while seeds run by the thousand: one that fails runs again with it on. */
export class History {
  readonly #startMs: number
  readonly #nowMs: () => number
  readonly lines: string[] = []
  readonly enabled: boolean

  constructor(enabled: boolean, nowMs: () => number) {
    this.enabled = enabled
    this.#nowMs = nowMs
    this.#startMs = nowMs()
  }

  /** Builds the line only while the history is on. */
  add(writer: string, line: () => string): void {
    if (!this.enabled) return
    const seconds = ((this.#nowMs() - this.#startMs) / 1_000).toFixed(3).padStart(10)
    this.lines.push(`${seconds}  ${writer.padEnd(6)} ${line()}`)
  }
}

/** Short enough to read, long enough to tell: bytes as their length, long strings cut. */
export function show(value: unknown): string {
  const text = JSON.stringify(value, (_key, part: unknown) => {
    if (part instanceof Uint8Array) return `<${part.length} bytes>`
    if (typeof part === 'string' && part.length > 60) return `${part.slice(0, 40)}…${part.length}`
    if (part instanceof Map) return Object.fromEntries(part)
    return part
  })
  if (text === undefined) return 'undefined'
  return text.length > 600 ? `${text.slice(0, 600)}…` : text
}
