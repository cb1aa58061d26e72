import { HOLD_MS_DEFAULT, WAIT_MS_MAX } from '../rate/core/bounds.ts'
import { variables } from '../runtime/variables.ts'

const NAME = variables.rateHoldMs

/** The longest time for which a call waits for its turn, whatever it asks for. */
export function rateHoldMs(environment: Readonly<Record<string, string | undefined>>): number {
  const value = environment[NAME]
  if (!value) return HOLD_MS_DEFAULT
  const ms = Number(value)
  if (Number.isInteger(ms) && ms >= 0 && ms <= WAIT_MS_MAX) return ms
  throw new Error(
    `Cannot start because ${NAME} must be an integer from 0 to ${WAIT_MS_MAX}, not "${value}"`,
  )
}
