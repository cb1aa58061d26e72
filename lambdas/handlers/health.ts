import { healthEndpoints } from '../http/health.ts'
import { httpHandler } from '../http/stack.ts'
import { logOf } from '../runtime/log.ts'

/** Answers `GET` and `HEAD /healthz`, and with 404 or 405 every request that matches no route (`$default`). */
export const handler = httpHandler('Health', logOf(process.env), healthEndpoints())
