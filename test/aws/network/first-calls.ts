// One call of each kind for which a lost answer matters, as the first after a pause.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { createRequestHandler } from '../../../aws/connections.ts'
import { createLeanDynamodb } from '../../../aws/lean-client.ts'
import { createQueues, type Queues } from '../../../engine/queues.ts'
import { connectEmbedded, type StoreEndpoints } from '../../../testing/embedded.ts'

/** And the names of their queues. */
export const kinds = ['push', 'pop', 'claim', 'acknowledge', 'keyed-push'] as const
type Kind = (typeof kinds)[number]

export const bucketName = 'network'

/** Both send through our request handler. */
export type Client = 'SDK' | 'lean'

export type FirstCallsSetting = {
  readonly endpoints: StoreEndpoints
  /** The way to DynamoDB on which connections die. */
  readonly proxyEndpoint: string
  readonly tableName: string
  readonly client: Client
}

type FirstCalls = {
  /** A call on each client, which leaves its connection idle, and what the next call needs. */
  beforePause(round: number): Promise<void>
  /** A call of each kind, in the order of `kinds`: `ok`, or how it failed. */
  afterPause(round: number): Promise<readonly string[]>
  /** What was lost, or is there twice, after so many rounds. */
  faultsAfter(rounds: number): Promise<readonly string[]>
  close(): void
}

/** Each kind has a client of its own, so that for each it is the first call. */
export function openFirstCalls(
  { endpoints, proxyEndpoint, tableName, client }: FirstCallsSetting,
  nowMs: () => number = Date.now,
): FirstCalls {
  const embedded = connectEmbedded(endpoints)
  const names = { tableName, bucketName, s3: embedded.s3 }
  const direct = createQueues({ ...names, dynamodb: embedded.dynamodb })
  const clients = kinds.map((kind) => {
    const options = {
      region: 'us-east-1',
      credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
      endpoint: proxyEndpoint,
      requestHandler: createRequestHandler({ nowMs }),
    }
    const dynamodb = client === 'SDK' ? new DynamoDBClient(options) : createLeanDynamodb(options)
    return { kind, dynamodb, queues: createQueues({ ...names, dynamodb }) }
  })
  const taken: Record<'pop' | 'claim', string[]> = { pop: [], claim: [] }
  let lockId = ''

  async function call(kind: Kind, queues: Queues, round: number): Promise<unknown> {
    const items = [{ text: String(round) }]
    switch (kind) {
      case 'push':
        return queues.push(kind, { items })
      case 'keyed-push':
        return queues.push(kind, { items, idempotencyKey: `round ${round}` })
      case 'acknowledge':
        return queues.acknowledge(kind, { lockId })
      case 'pop':
      case 'claim': {
        const claim = kind === 'claim'
        // On a busy machine all rounds take longer than a lock lives unless it says otherwise.
        const ttlSeconds = 300
        const popped = await queues.pop(kind, { requireAck: claim, competing: claim, ttlSeconds })
        if (popped.kind === 'items') taken[kind].push(...popped.items.map(({ text }) => text))
        return popped
      }
      default:
        return kind satisfies never
    }
  }

  return {
    async beforePause(round) {
      const items = [{ text: String(round) }]
      for (const queue of ['pop', 'claim', 'acknowledge']) await direct.push(queue, { items })
      const locked = await direct.pop('acknowledge', { requireAck: true, competing: true })
      lockId = (locked.kind === 'items' && locked.lock?.id) || ''
      await Promise.all(clients.map(({ kind, queues }) => queues.inspect(kind)))
    },
    afterPause: (round) =>
      Promise.all(
        clients.map(({ kind, queues }) =>
          call(kind, queues, round).then(
            () => 'ok',
            (error: Error & { outcome?: string }) => `${error.outcome}: ${error.message}`,
          ),
        ),
      ),
    async faultsAfter(rounds) {
      const every = Array.from({ length: rounds }, (_, round) => String(round)).join()
      const left = async (queue: Kind) =>
        (await direct.browse(queue, { limit: 100 })).items.map(({ text }) => text).join()
      const found = {
        'pushed once each': [await left('push'), every],
        'pushed with a key once each': [await left('keyed-push'), every],
        'popped once each': [taken.pop.join(), every],
        'claimed once each': [taken.claim.join(), every],
        'left after the pops': [await left('pop'), ''],
        'left after the acknowledgements': [await left('acknowledge'), ''],
      }
      return Object.entries(found)
        .filter(([, [is, shouldBe]]) => is !== shouldBe)
        .map(([what, [is]]) => `${what}: ${is}`)
    },
    close() {
      embedded.disconnect()
      for (const { dynamodb } of clients) dynamodb.destroy()
    },
  }
}
