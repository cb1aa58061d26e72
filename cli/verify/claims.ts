// The claims that a step makes about the service. A claim that fails throws a sentence for the report.

import { isDeepStrictEqual } from 'node:util'
import { type ErrorCode, isPushPopError, type PushPopError } from '../../client/index.ts'

/** The service breaks its promise. */
export class Broken extends Error {}

/** This step cannot be tried here; the message says why. */
export class Skipped extends Error {}

export function holds(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new Broken(otherwise)
}

export function same(what: string, found: unknown, promised: unknown): void {
  if (isDeepStrictEqual(found, promised)) return
  throw new Broken(`${what}: ${difference(found, promised)}`)
}

export type Refusal = {
  readonly code: ErrorCode
  readonly status?: number
  /** The field that the error must name. */
  readonly field?: string
}

/** Returns the error if the service refuses the call with this code and leaves nothing in doubt. */
export async function refused(call: Promise<unknown>, promised: Refusal): Promise<PushPopError> {
  const error = await call.then(
    (answer) => {
      throw new Broken(`promised the refusal ${promised.code}, found the answer ${shown(answer)}`)
    },
    (error: unknown) => error,
  )
  if (!isPushPopError(error) || (saysNothing(error) && error.code !== promised.code)) throw error
  const { code, status, field } = error
  same('the refusal', { code, status, field }, { status, field, ...promised })
  holds(error.outcome !== 'unknown', `the refusal ${code} leaves open whether it changed something`)
  return error
}

/**
 * Is this error about the network, a bad moment of the service, the gateway's throttle or the caller's
 * rights? Any other refusal is about the promise, because nobody else locks or fills a run's queues.
 */
export const saysNothing = ({ code, status, outcome }: PushPopError): boolean =>
  code !== 'INTERNAL' &&
  (status === undefined || status >= 500 || outcome === 'unknown' || passing.has(code))

const passing: ReadonlySet<ErrorCode> = new Set(['UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMITED'])

/** For long lists only the first place where they differ: nobody reads 600 items. */
function difference(found: unknown, promised: unknown): string {
  if (!Array.isArray(found) || !Array.isArray(promised) || promised.length < LONG) {
    return `promised ${shown(promised)}, found ${shown(found)}`
  }
  const at = promised.findIndex((one, index) => !isDeepStrictEqual(one, found[index]))
  if (at < 0) return `promised ${promised.length} of them, found ${found.length}`
  return (
    `promised ${shown(promised[at])} at ${at}, found ${shown(found[at])} ` +
    `(${promised.length} promised, ${found.length} found)`
  )
}

const LONG = 20
const SHOWN_CHARACTERS_MAX = 240

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}…` : text
}
