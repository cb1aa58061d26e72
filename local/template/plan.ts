// What to run, read out of the templates as plain data, so that the rest of the local stack knows nothing of
// CloudFormation.

import type { StackTemplate } from './assembly.ts'
import { checkResources } from './check-resources.ts'
import { type ApiPlan, planApis } from './plan-api.ts'
import { type EventRulePlan, planRules, type SchedulePlan } from './plan-events.ts'
import { type FunctionPlan, planFunctions } from './plan-functions.ts'
import { planQueueMappings, type QueueMappingPlan } from './plan-queue-mappings.ts'
import { planQueues, type QueuePlan } from './plan-queues.ts'
import { planBuckets, planTables, type TablePlan } from './plan-stores.ts'
import { planStreams, type StreamPlan } from './plan-streams.ts'
import { Resources } from './resources.ts'

export type Plan = {
  readonly functions: readonly FunctionPlan[]
  readonly tables: readonly TablePlan[]
  /** Their names. */
  readonly buckets: readonly string[]
  readonly queues: readonly QueuePlan[]
  readonly apis: readonly ApiPlan[]
  readonly schedules: readonly SchedulePlan[]
  /** Names of the event buses, the default one included. */
  readonly buses: readonly string[]
  readonly eventRules: readonly EventRulePlan[]
  readonly streams: readonly StreamPlan[]
  readonly queueMappings: readonly QueueMappingPlan[]
  /** What the template asks for but the local stack does not do, one sentence each. */
  readonly leftOut: readonly string[]
}

export function planStack(stacks: readonly StackTemplate[]): Plan {
  const resources = new Resources(stacks)
  const leftOut: string[] = []
  checkResources(resources, leftOut)
  const functions = planFunctions(resources, leftOut)
  const apis = planApis(resources, leftOut)
  const { schedules, eventRules } = planRules(resources, leftOut)
  return {
    functions,
    tables: planTables(resources),
    buckets: planBuckets(resources),
    queues: planQueues(resources),
    apis,
    schedules,
    buses: ['default', ...resources.ofType('AWS::Events::EventBus').map(({ ref }) => ref)],
    eventRules,
    streams: planStreams(resources, leftOut),
    queueMappings: planQueueMappings(resources),
    leftOut,
  }
}
