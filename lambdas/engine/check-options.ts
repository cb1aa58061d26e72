import { checkFields, checkIs } from '../foundation/shared/known-options.ts'
import {
  IDEMPOTENCY_TTL_SECONDS_MAX,
  IDEMPOTENCY_TTL_SECONDS_MIN,
  REMIND_AFTER_SECONDS_MAX,
  REMIND_AFTER_SECONDS_MIN,
} from './core/limits.ts'
import type { QueuesOptions } from './create-engine.ts'
import { optionNames } from './request-names.ts'

/**
 * Refuses options with which the engine would break its promises: with a time of 0, a key is forgotten at once, and
 * a repeated push pushes again. Not in the engine itself, because its own tests take shorter times.
 */
export function checkQueuesOptions(options: QueuesOptions): void {
  checkFields(options, optionNames, undefined)
  for (const name of ['dynamodb', 's3'] as const) checkStore(name, options[name])
  const { idempotencyTtlSeconds, remindAfterSeconds, waitingPopsMax } = options
  checkWhole('idempotencyTtlSeconds', idempotencyTtlSeconds, {
    min: IDEMPOTENCY_TTL_SECONDS_MIN,
    max: IDEMPOTENCY_TTL_SECONDS_MAX,
  })
  checkWhole('remindAfterSeconds', remindAfterSeconds, {
    min: REMIND_AFTER_SECONDS_MIN,
    max: REMIND_AFTER_SECONDS_MAX,
  })
  checkWhole('waitingPopsMax', waitingPopsMax, { min: 0, max: Number.MAX_SAFE_INTEGER })
  const functions = ['random', 'onBackgroundError', 'onItemsExpired', 'onSegmentMoved'] as const
  for (const name of functions) {
    if (options[name] !== undefined) checkIs('a function', options[name], `${name} must be`)
  }
  if (options.events !== undefined) checkIs('a boolean', options.events, 'events must be')
  if (options.clock !== undefined) checkFields(options.clock, undefined, 'clock')
}

/** Without this, a queue would work until it is long enough to need S3. */
function checkStore(name: string, store: object | undefined): void {
  if (typeof store === 'function' && name === 's3') return
  if (typeof (store as { send?: unknown } | undefined)?.send === 'function') return
  const what =
    name === 's3' ? 'a client of S3, or a function that makes one' : 'a client of DynamoDB'
  const got = store === undefined || store === null ? store : `a ${typeof store}`
  throw new TypeError(`${name} must be ${what}, and got ${got}`)
}

type Bounds = { readonly min: number; readonly max: number }

function checkWhole(name: string, value: number | undefined, { min, max }: Bounds): void {
  if (value === undefined) return
  if (Number.isInteger(value) && value >= min && value <= max) return
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `from ${min} to ${max}`
  const is = typeof value === 'number' ? value : JSON.stringify(value)
  throw new TypeError(`${name} must be a whole number ${range}, and is ${is}`)
}
