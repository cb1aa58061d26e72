import type { Actor } from '../harness/actor.ts'
import { consumeMany } from './consume-many.ts'
import { consumer } from './consumer.ts'
import { rateCallers } from './rate-callers.ts'
import { upkeep } from './upkeep.ts'

/** All that may take part in a world beside the callers. */
export const actors: readonly Actor[] = [upkeep, consumer, consumeMany, rateCallers]
