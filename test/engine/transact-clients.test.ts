// A transaction whose answer is lost, through either client: what `transact` says of it.

import { createServer } from 'node:http'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRequestHandler } from '../../aws/connections.ts'
import { createLeanDynamodb } from '../../aws/lean-client.ts'
import type { TransactItem } from '../../engine/queues.ts'
import { REGION } from '../../local/template/identities.ts'
import { startServer } from '../aws/network/a-server.ts'
import { useEmbedded } from './stage.ts'

const stage = useEmbedded()
/** Nobody looks at them. */
const credentials = { accessKeyId: 'KEY', secretAccessKey: 'SECRET' }

const clients = {
  SDK: (options: { endpoint: string; region: string; credentials: typeof credentials }) => {
    const requestHandler = createRequestHandler()
    const client = new DynamoDBClient({ ...options, requestHandler, maxAttempts: 1 })
    onTestFinished(() => client.destroy())
    const documents = DynamoDBDocumentClient.from(client)
    return (command: TransactWriteCommand): Promise<unknown> => documents.send(command)
  },
  lean: (options: { endpoint: string; region: string; credentials: typeof credentials }) => {
    const client = createLeanDynamodb(options)
    onTestFinished(() => client.destroy())
    return (command: TransactWriteCommand) => client.send(command)
  },
}

describe.each(['SDK', 'lean'] as const)('transact through the %s client', (kind) => {
  /** A server that ends each connection once it has the request. */
  async function open() {
    let sent = 0
    const server = await startServer(
      createServer((request, response) => {
        sent += 1
        request.resume()
        request.on('end', () => response.destroy())
      }),
    )
    onTestFinished(() => server.close())
    const endpoint = `http://127.0.0.1:${server.port}`
    const send = clients[kind]({ endpoint, region: REGION, credentials })
    const transaction = (entries: readonly TransactItem[]) =>
      new TransactWriteCommand({ TransactItems: [...entries] as never })
    return { send, transaction, sent: () => sent }
  }

  it('says that the outcome is unknown if every answer is lost, and has asked several times.', async () => {
    const { send, transaction, sent } = await open()
    const pushed = stage
      .engine()
      .transact(stage.queue(), [{ text: '1' }], (entries) => send(transaction(entries)))
    await expect(pushed).rejects.toMatchObject({ name: 'QueueError', outcome: 'unknown' })
    expect(sent()).toBeGreaterThan(1)
  })

  it('learns that a transaction whose answer was lost has passed, and pushes once.', async () => {
    const { send, transaction, sent } = await open()
    const [queues, queue] = [stage.engine(), stage.queue()]
    let sendings = 0
    const answer = await queues.transact(queue, [{ text: '1' }], async (entries) => {
      sendings += 1
      const carriedOut = stage.store.dynamodb.send(transaction(entries) as never)
      if (sendings > 1) return carriedOut
      await carriedOut
      return send(transaction(entries))
    })
    expect([answer, sendings, sent()]).toEqual([undefined, 2, 1])
    const popped = await queues.pop(queue, { count: 5 })
    expect(popped).toMatchObject({ kind: 'items', items: [{ text: '1' }] })
  })
})
