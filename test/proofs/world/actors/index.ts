import type { Actor } from '../harness/actor.ts'
import { consumeMany } from './consume-many.ts'
import { consumer } from './consumer.ts'
import { deployments } from './deployments.ts'
import { inbox } from './inbox.ts'
import { queueLimits, rateCallers } from './rate-callers.ts'
import { schedules } from './schedules.ts'
import { upkeep } from './upkeep.ts'

/** All that may take part in a world beside the callers. */
export const actors: readonly Actor[] = [
  upkeep,
  consumer,
  consumeMany,
  inbox,
  schedules,
  deployments,
  rateCallers,
  queueLimits,
]
