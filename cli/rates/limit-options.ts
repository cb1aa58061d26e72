import {
  IN_LINE_DEFAULT,
  IN_LINE_MAX,
  MAX_REQUESTS_DEFAULT,
  MAX_REQUESTS_MAX,
  WINDOW_MS_DEFAULT,
  WINDOW_MS_MAX,
  WINDOW_MS_MIN,
} from '../../lambdas/rate/core/bounds.ts'
import type { OptionTable } from '../arguments/option-table.ts'

/** A limit, as a request may ask for it and a key is configured with it. */
export const limitOptions = {
  'max-requests': {
    kind: 'integer',
    value: 'N',
    min: 1,
    max: MAX_REQUESTS_MAX,
    help: `how many requests a window; ${MAX_REQUESTS_DEFAULT} is the default`,
  },
  'max-in-line': {
    kind: 'integer',
    value: 'N',
    min: 0,
    max: IN_LINE_MAX,
    help: `how many may wait for windows to come; ${IN_LINE_DEFAULT} is the default`,
  },
  window: {
    kind: 'integer',
    value: 'MS',
    min: WINDOW_MS_MIN,
    max: WINDOW_MS_MAX,
    help: `how long a window is; ${WINDOW_MS_DEFAULT} is the default`,
  },
} as const satisfies OptionTable
