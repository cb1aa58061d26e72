import { rateEndpoints, rateHoldMs } from '../http/rate.ts'
import { httpHandler } from '../http/stack.ts'
import { logOf } from '../runtime/log.ts'
import { createRateServices } from '../runtime/rate-services.ts'

const log = logOf(process.env)
const limits = createRateServices(process.env)

const endpoints = rateEndpoints(limits, { holdMsMax: rateHoldMs(process.env) })

export const handler = httpHandler('Rate', log, endpoints)
