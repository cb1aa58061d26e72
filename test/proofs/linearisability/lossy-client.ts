// Loses answers, and makes requests late, between a client and its store: at the request handler,
// so that the SDK's retries above it see what they would see on a bad network.

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'

export type Fault =
  /** The request took effect; its answer never comes. */
  | { readonly kind: 'answer-lost' }
  /** It never arrived. */
  | { readonly kind: 'request-lost' }
  /** Its sender gave up first; then it arrives. */
  | { readonly kind: 'late'; readonly delayMs: number }

export type Lossy = {
  /** The next requests meet these, in order; `undefined` lets one pass. */
  arm(faults: readonly (Fault | undefined)[]): void
  /** Removes the faults that no request has met. */
  disarm(): void
  /** Each request waits so long before it is sent. */
  delay(delayMs: (() => number) | undefined): void
  /** When everything late has arrived. */
  settled(): Promise<void>
  /** How many requests have met one. */
  faults(): number
}

type Handler = DynamoDBClient['config']['requestHandler']

export function lossyClients(clients: {
  readonly dynamodb: DynamoDBClient
  readonly s3: S3Client
}): Lossy {
  let faults = 0
  const late = new Set<Promise<unknown>>()
  let armed: (Fault | undefined)[] = []
  let delayMs: (() => number) | undefined

  function wrap(handler: Handler) {
    const send = handler.handle.bind(handler)
    handler.handle = async (request, options) => {
      const fault = armed.shift()
      if (delayMs !== undefined) await sleep(delayMs())
      if (fault === undefined) return send(request, options)

      faults += 1
      switch (fault.kind) {
        case 'answer-lost':
          discard(await send(request, options))
          throw timeout()
        case 'request-lost':
          throw timeout()
        case 'late': {
          // Without the options: the sender's abort signal is not ours.
          const arrival = sleep(fault.delayMs)
            .then(() => send(request))
            .then(discard)
          const handled = arrival.catch(() => {}).finally(() => late.delete(handled))
          late.add(handled)
          throw timeout()
        }
        default:
          return fault satisfies never
      }
    }
  }
  wrap(clients.dynamodb.config.requestHandler)
  wrap(clients.s3.config.requestHandler as Handler)

  return {
    arm(next) {
      armed = [...next]
    },
    disarm() {
      armed = []
    },
    delay(next) {
      delayMs = next
    },
    async settled() {
      await Promise.all(late)
    },
    faults: () => faults,
  }
}

/** A body that nobody reads would keep its connection. */
function discard({ response }: Awaited<ReturnType<Handler['handle']>>) {
  response.body?.resume?.()
}

/** As the SDK's handler reports one. */
function timeout(): Error {
  const error = new Error('Cannot wait longer for an answer because this test lost it')
  error.name = 'TimeoutError'
  return error
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
