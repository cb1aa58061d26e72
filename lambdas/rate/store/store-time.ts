import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { asDocumentPort, type DocumentPort } from '../../foundation/document-port.ts'
import type { Clock } from '../../foundation/system.ts'

type StoreTime = {
  /** The client, whose answers are looked at. */
  readonly port: DocumentPort
  /** The time by the store's clock, to the second, from its last answer; until there is one, by our clock. */
  nowMs(): number
}

type Next = (input: unknown) => Promise<{ readonly response?: unknown }>
type Stacked = {
  middlewareStack?: {
    add(middleware: (next: Next) => Next, options: Record<string, unknown>): void
  }
}

/**
 * The time from the `Date` header of the store's answers. AWS accepts signatures from clocks that are up to fifteen
 * minutes wrong, so a wrong clock can go unnoticed.
 */
export function storeTime(client: DynamoDBClient | DocumentPort, clock: Clock): StoreTime {
  const documents = asDocumentPort(client)
  let aheadMs = 0

  function noteDate(date: string | undefined): void {
    const dateMs = Date.parse(date ?? '')
    if (!Number.isNaN(dateMs)) aheadMs = dateMs - clock.nowMs()
  }

  function watch(command: Stacked): void {
    command.middlewareStack?.add(
      (next) => async (input) => {
        const output = await next(input)
        noteDate(dateOf(output.response))
        return output
      },
      { name: 'pushPopStoreTime', step: 'deserialize', override: true },
    )
  }

  return {
    port: {
      ...documents,
      async send(command: never, ...options: []) {
        watch(command)
        const answer = await documents.send(command, ...options)
        // The lean client, which has no middleware, returns the date with its answer.
        noteDate((answer as { $metadata?: { date?: string } } | undefined)?.$metadata?.date)
        return answer
      },
    },
    nowMs: () => clock.nowMs() + aheadMs,
  }
}

const dateOf = (response: unknown): string | undefined =>
  (response as { headers?: Readonly<Record<string, string>> } | undefined)?.headers?.date
