import { type Actor, takesPart } from '../harness/actor.ts'
import { consumeMany } from './consume-many.ts'
import { consumer } from './consumer.ts'
import { deployments } from './deployments.ts'
import { inbox } from './inbox.ts'
import { queueLimits, rateCallers } from './rate-callers.ts'
import { schedules } from './schedules.ts'
import { housekeeper, upkeep } from './upkeep.ts'

export const actors = [
  { name: 'housekeeper', share: 1, join: housekeeper },
  { name: 'upkeep', share: 0.3, join: upkeep },
  { name: 'consumer', share: 0.25, join: consumer },
  { name: 'consume-many', share: 0.12, join: consumeMany },
  { name: 'inbox', share: 0.2, join: inbox },
  { name: 'schedules', share: 0.15, join: schedules },
  { name: 'deployments', share: 0.1, join: deployments },
  { name: 'rate-callers', share: 0.15, join: rateCallers },
  { name: 'queue-limits', share: 1, join: queueLimits },
] as const satisfies readonly Actor[]

export const hasActor = (name: (typeof actors)[number]['name'], worldSeed: number): boolean =>
  actors.some((actor) => actor.name === name && takesPart(actor, worldSeed))
