import { expect, it } from 'vitest'
import { rateHoldMs } from '../../../lambdas/http/rate.ts'

it.each([
  [undefined, 2_000],
  ['', 2_000],
  ['0', 0],
  ['20000', 20_000],
])('A function that is told %o holds calls for %d ms.', (value, ms) => {
  expect(rateHoldMs({ PUSHPOP_RATE_HOLD_MS: value })).toBe(ms)
})

it.each(['-1', '20001', '1.5', '2s'])('A function that is told %o does not start.', (value) => {
  expect(() => rateHoldMs({ PUSHPOP_RATE_HOLD_MS: value })).toThrow(
    `Cannot start because PUSHPOP_RATE_HOLD_MS must be an integer from 0 to 20000, not "${value}"`,
  )
})
