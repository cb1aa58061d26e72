import type middy from '@middy/core'
import type { Answer } from '../answer.ts'
import type { Exchange } from '../exchange.ts'

/** One step of the stack. */
export type Step = middy.MiddlewareObj<Exchange, Answer>
export type StepRequest = middy.Request<Exchange, Answer>
