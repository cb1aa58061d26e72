import { refusingUnknown } from '../foundation/shared/refusing-unknown.ts'
import { checkQueuesOptions } from './check-options.ts'
import type { QueuesOptions } from './create-engine.ts'
import type { Queues } from './queues.ts'
import { createQueues as createTrustingQueues } from './queues.ts'
import { requestNames } from './request-names.ts'

/**
 * The engine for callers whom no compiler may have checked. An option that we passed over may be the one that keeps
 * items: a pop whose `require_ack` we do not see is for good.
 */
export function createQueues(options: QueuesOptions): Queues {
  checkQueuesOptions(options)
  return careful(createTrustingQueues(options))
}

export const careful = (queues: Queues): Queues => refusingUnknown(queues, requestNames)
