import { type Actor, takesPart } from '../harness/actor.ts'
import { ConsumeMany } from './consume-many.ts'
import { Consumer } from './consumer.ts'
import { Deployments } from './deployments.ts'
import { Inbox } from './inbox.ts'
import { queueLimits, RateCallers } from './rate-callers.ts'
import { Schedules } from './schedules.ts'
import { Upkeep } from './upkeep.ts'

/** All that may take part in a world beside the callers. */
export const actors = [
  { name: 'upkeep', share: 0.3, join: (joining) => new Upkeep(joining) },
  { name: 'consumer', share: 0.25, join: (joining) => new Consumer(joining) },
  { name: 'consume-many', share: 0.12, join: (joining) => new ConsumeMany(joining) },
  { name: 'inbox', share: 0.2, join: (joining) => new Inbox(joining) },
  { name: 'schedules', share: 0.15, join: (joining) => new Schedules(joining) },
  { name: 'deployments', share: 0.1, join: (joining) => new Deployments(joining) },
  { name: 'rate-callers', share: 0.15, join: (joining) => new RateCallers(joining) },
  { name: 'queue-limits', share: 1, join: queueLimits },
] as const satisfies readonly Actor[]

export const hasActor = (name: (typeof actors)[number]['name'], worldSeed: number): boolean =>
  actors.some((actor) => actor.name === name && takesPart(actor, worldSeed))
