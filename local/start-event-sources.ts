// What happens without a request: schedules, the streams of tables, queues that functions read, and rows that expire.

import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { inputOf } from './events/event-bus.ts'
import { ScheduleTimer } from './events/schedules.ts'
import type { Functions } from './functions/start-functions.ts'
import { QueueMapping } from './sqs/queue-mapping.ts'
import type { Stores } from './stores/start-stores.ts'
import type { DynamodbApi } from './stores/store-api.ts'
import { type GivenUp, StreamMapping } from './streams/stream-mapping.ts'
import { Checkpoint, StreamReader, StreamTrimming } from './streams/stream-reader.ts'
import type { Plan, TablePlan } from './template/plan.ts'

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

type RowExpirySettings = {
  readonly dynamodb: DynamodbApi
  readonly tables: readonly TablePlan[]
  readonly onProblem: (sentence: string) => void
  readonly everyMs?: number | undefined
  readonly nowMs?: (() => number) | undefined
}

/** AWS takes up to some days, so no code may count on less. */
const EVERY_MS = 3_600_000
/** A page of ordinary records is read in 10 ms; with the pause, a tenth of what DynamoDB can do. */
const PAGE_ROWS = 200
const PAUSE_MS = 100

type Row = Readonly<Record<string, unknown>>

/**
 * DynamoDB's time to live deletes rows some time after their time is over. dynoxide accepts the setting but leaves the
 * rows (for more than an hour, as we saw), so a data folder would fill up with them.
 */
export class RowExpiry {
  readonly #settings: RowExpirySettings
  readonly #stop = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(settings: RowExpirySettings) {
    this.#settings = settings
  }

  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { tables, everyMs = EVERY_MS, onProblem } = this.#settings
    const expiring = tables.filter(({ timeToLiveAttribute }) => timeToLiveAttribute !== undefined)
    while (expiring.length > 0) {
      await this.#pause(everyMs)
      for (const table of expiring) {
        if (this.#stop.signal.aborted) return
        await this.#sweep(table).catch((error) =>
          onProblem(`Cannot delete the expired rows of ${table.name}: ${error}`),
        )
      }
    }
  }

  async #sweep({ name, definition, timeToLiveAttribute }: TablePlan): Promise<void> {
    const { dynamodb, nowMs = Date.now } = this.#settings
    const seconds = String(Math.floor(nowMs() / 1000))
    const isOver = {
      ExpressionAttributeNames: { '#ttl': timeToLiveAttribute },
      // DynamoDB ignores rows in which the value is not a number.
      ExpressionAttributeValues: { ':now': { N: seconds }, ':number': { S: 'N' } },
    }
    const condition = 'attribute_type(#ttl, :number) AND #ttl < :now'
    let from: unknown
    do {
      const page = await dynamodb('Scan', {
        TableName: name,
        Limit: PAGE_ROWS,
        FilterExpression: condition,
        ...isOver,
        ExclusiveStartKey: from,
      })
      for (const row of (page.Items ?? []) as readonly Row[]) {
        // Somebody may have given it more time since.
        const input = { TableName: name, Key: keyOf(row, definition), ...isOver }
        await dynamodb('DeleteItem', { ...input, ConditionExpression: condition }).catch(
          ignoreRefused,
        )
      }
      from = page.LastEvaluatedKey
      await this.#pause(PAUSE_MS)
    } while (from !== undefined && !this.#stop.signal.aborted)
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stop.signal }).catch(() => {})
  }
}

function keyOf(row: Row, definition: TablePlan['definition']): Row {
  const schema = definition.KeySchema as readonly { readonly AttributeName: string }[]
  return Object.fromEntries(schema.map(({ AttributeName }) => [AttributeName, row[AttributeName]]))
}

function ignoreRefused(error: unknown): void {
  const { code } = error as { code?: unknown }
  if (code !== 'ConditionalCheckFailedException') throw error
}
