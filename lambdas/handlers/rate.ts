import { rateEndpoints } from '../http/endpoints/rate.ts'
import { rateHoldMs } from '../http/rate-hold.ts'
import { httpHandler } from '../http/stack.ts'
import { logOf } from '../setup/environment.ts'
import { createRateServices } from '../setup/rate-services.ts'

const log = logOf(process.env)
const limits = createRateServices(process.env)

const endpoints = rateEndpoints(limits, { holdMsMax: rateHoldMs(process.env) })

export const handler = httpHandler('Rate', log, endpoints)
