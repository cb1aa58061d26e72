// What happens without a request: schedules, the streams of tables, queues that functions read, and rows that expire.

import { join } from 'node:path'
import { inputOf } from './events/event-bus.ts'
import { ScheduleTimer } from './events/schedules.ts'
import type { Functions } from './functions/start-functions.ts'
import { QueueMapping } from './sqs/queue-mapping.ts'
import { RowExpiry } from './stores/row-expiry.ts'
import type { Stores } from './stores/start-stores.ts'
import { Checkpoint } from './streams/checkpoint.ts'
import { type GivenUp, StreamMapping } from './streams/stream-mapping.ts'
import { StreamReader } from './streams/stream-reader.ts'
import { StreamTrimming } from './streams/stream-trimming.ts'
import type { Plan } from './template/plan.ts'

type EventSourcesSettings = {
  readonly plan: Plan
  readonly stores: Stores
  /** The ARNs of the streams, by table. */
  readonly streamArns: ReadonlyMap<string, string>
  readonly functions: Functions
  readonly scheduleSpeed: number
  readonly onGivenUp: (givenUp: GivenUp) => void
  readonly onNotice: (sentence: string) => void
}

export type EventSources = {
  /** From now on, no source starts anything new. */
  pause(): void
  /** Resolves when everything that was begun has ended, one way or the other. */
  stop(): Promise<void>
}

export function startEventSources(settings: EventSourcesSettings): EventSources {
  const { plan, stores, functions, scheduleSpeed } = settings
  const timers = plan.schedules.flatMap((schedule) =>
    schedule.targets.map((target, index) => {
      const key = `${schedule.id} ${index}`
      return new ScheduleTimer({
        plan: schedule,
        speed: scheduleSpeed,
        fire: (event) =>
          // While one run is still at work, the next firing is left out.
          functions.deliver(target, inputOf(target, event), key),
      })
    }),
  )
  const trimming = new StreamTrimming((table, to) => stores.trimStream(table, to))
  for (const { tableName, id } of plan.streams) trimming.add(tableName, id)
  const mappings = [
    ...plan.streams.map((stream) => startMapping(stream, settings, trimming)),
    ...plan.queueMappings.map((mapping) => startQueueMapping(mapping, settings)),
  ]
  for (const timer of timers) timer.start()
  const { dynamodb } = stores
  const expiry = new RowExpiry({ dynamodb, tables: plan.tables, onProblem: settings.onNotice })
  expiry.start()

  let stopped: Promise<unknown> = Promise.resolve()
  return {
    pause() {
      for (const timer of timers) timer.stop()
      functions.asyncInvoker.stop()
      stopped = Promise.all([expiry.stop(), ...mappings.map((mapping) => mapping.stop())])
    },
    async stop() {
      await stopped
      trimming.stop()
    },
  }
}

function startMapping(
  plan: Plan['streams'][number],
  { stores, streamArns, functions, onGivenUp, onNotice }: EventSourcesSettings,
  trimming: StreamTrimming,
): StreamMapping {
  const checkpoint = new Checkpoint(join(stores.directory, 'streams', `${plan.id}.json`), {
    onSaved: (at) => trimming.past(plan.tableName, plan.id, at),
    onProblem: onNotice,
  })
  const streamArn = streamArns.get(plan.tableName) ?? ''
  const mapping = new StreamMapping({
    plan,
    reader: new StreamReader(stores.dynamodb, streamArn, checkpoint.position),
    checkpoint,
    async invoke(event) {
      const pool = functions.pools.get(plan.functionArn)
      return pool ? pool.invoke(event) : { kind: 'throttled' }
    },
    onGivenUp(givenUp) {
      onGivenUp(givenUp)
      functions.losses.happened()
      onNotice(
        `${givenUp.records} records of ${plan.tableName}'s stream were given up (${givenUp.reason}` +
          `${plan.failureQueue ? `); on AWS the queue ${plan.failureQueue} would have them` : ')'}.`,
      )
    },
    onProblem: onNotice,
  })
  mapping.start()
  return mapping
}

function startQueueMapping(
  plan: Plan['queueMappings'][number],
  { stores, functions, onNotice }: EventSourcesSettings,
): QueueMapping {
  const pool = functions.pools.get(plan.functionArn)
  const mapping = new QueueMapping({
    plan,
    sqs: stores.sqs,
    // More would only wait for a process.
    concurrencyMax: Math.min(plan.concurrencyMax ?? Infinity, pool?.processesMax ?? 1),
    async invoke(event) {
      return pool ? pool.invoke(event) : { kind: 'throttled' }
    },
    onProblem: onNotice,
  })
  mapping.start()
  return mapping
}
