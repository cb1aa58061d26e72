import type { Writable } from 'node:stream'

/** Resolves when the system has taken the text: what is only buffered may still be lost. */
export const write = (stream: Writable, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()))
  })

/** For what helps a person who watches, and matters to nobody else. */
export function writeQuietly(stream: Writable, text: string): void {
  stream.write(text, () => {})
}
