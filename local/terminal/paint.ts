/** A stream to write to, such as `process.stdout`. */
export type Output = {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
}

export type Colour = 'red' | 'green' | 'yellow' | 'dim' | 'bold'

const codes: Readonly<Record<Colour, string>> = {
  red: '31',
  green: '32',
  yellow: '33',
  dim: '2',
  bold: '1',
}

export type Paint = (colour: Colour, text: string) => string

/** Colours only on a terminal, and only if the user has not turned them off (no-color.org). */
export function paintFor(
  { isTTY }: Output,
  environment: Readonly<Record<string, string | undefined>>,
): Paint {
  if (!isTTY || environment.NO_COLOR || environment.TERM === 'dumb') return (_, text) => text
  return (colour, text) => `\u001b[${codes[colour]}m${text}\u001b[0m`
}

/** Makes text from elsewhere harmless: it must not move the cursor or ring the bell. */
export const printable = (text: string): string =>
  text.replace(/\p{Cc}/gu, (character) => (character === '\t' ? ' ' : '\ufffd'))
