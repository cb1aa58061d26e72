/** What is written to; `process.stdout` is one. */
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

/** In colours only for somebody who looks on, and not for who has asked for none (no-color.org). */
export function paintFor(
  { isTTY }: Output,
  environment: Readonly<Record<string, string | undefined>>,
): Paint {
  if (!isTTY || environment.NO_COLOR || environment.TERM === 'dumb') return (_, text) => text
  return (colour, text) => `\u001b[${codes[colour]}m${text}\u001b[0m`
}

/** What others wrote must not move the cursor or ring the bell. */
export const printable = (text: string): string =>
  text.replace(/\p{Cc}/gu, (character) => (character === '\t' ? ' ' : '\ufffd'))
