// DynamoDB's time to live deletes rows some time after their time is over. dynoxide accepts the setting but
// leaves the rows (for more than an hour, as we saw), so a data folder would fill up with them.

import { setTimeout as delay } from 'node:timers/promises'
import type { TablePlan } from '../template/plan-stores.ts'
import type { DynamodbApi } from './dynamodb-api.ts'

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
