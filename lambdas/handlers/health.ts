import { healthEndpoints } from '../http/endpoints/health.ts'
import { httpHandler } from '../http/stack.ts'
import { logOf } from '../runtime/environment.ts'

/** `GET` and `HEAD /healthz`, and every request that no route takes (`$default`), which it answers 404 or 405. */
export const handler = httpHandler('Health', logOf(process.env), healthEndpoints())
