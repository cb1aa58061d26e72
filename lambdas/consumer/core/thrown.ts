// What a handler threw may be anything. In JavaScript even a Proxy that throws wherever somebody looks at it, and
// whoever reports an error looks.

import { shortenedReason } from '../../foundation/shared/reason.ts'

/** As far as a log shows them. */
const CAUSES_READ = 4

/** The value itself, or an error in its place if what we report of it cannot be read. */
export function readable(thrown: unknown): unknown {
  try {
    for (
      let one = thrown, n = 0;
      one instanceof Error && n < CAUSES_READ;
      one = one.cause, n += 1
    ) {
      void [one.name, one.message, one.stack]
    }
    return thrown
  } catch {
    return new Error('The handler threw a value that throws when it is read')
  }
}

/** The reason that the engine gives if the queue itself has `max_deliveries`. */
export const TOO_MANY_DELIVERIES = 'max_deliveries'

/** The same with the error of the last delivery, which nobody else will keep. */
export function reasonAfter(thrown: unknown): string {
  const text = textOf(thrown)
  return text === '' ? TOO_MANY_DELIVERIES : shortenedReason(`${TOO_MANY_DELIVERIES}: ${text}`)
}

function textOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return typeof thrown === 'string' ? thrown : ''
  return String(thrown.message || thrown.name)
}
