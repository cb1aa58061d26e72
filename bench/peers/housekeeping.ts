// The stack's Housekeep beside the engine of a peer: a process of its own, called with what the table's stream shows.

import { fork } from 'node:child_process'
import { createLeanDynamodb } from '../../lambdas/engine/index.ts'
import { connectEmbedded } from '../../testing/embedded.ts'
import { tableName } from '../bench.ts'
import { createHousekeeper, openQueues } from '../engine.ts'
import type { Row, Sender } from '../metering/commands.ts'
import type { Addresses } from './peer.ts'

type Stores = NonNullable<Addresses['stores']>

const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' }

/** The engine of a peer, or of its housekeeping: the lean client, as in the stack's functions. */
export function connectEngine(stores: Stores, onAnswer: (row: Row) => void = () => {}) {
  const connections = connectEmbedded(stores)
  const lean = createLeanDynamodb({
    region: 'us-east-1',
    endpoint: stores.dynamodbEndpoint,
    credentials,
  })
  let requests = 0
  const dynamodb: Sender = {
    async send(command) {
      requests += 1
      const answer = (await lean.send(command)) as { Attributes?: Row }
      if (answer.Attributes?.work !== undefined) onAnswer(answer.Attributes)
      return answer
    },
  }
  const s3 = connections.s3 as unknown as Sender
  const queues = openQueues({ tableName, bucketName: tableName, dynamodb, s3 })
  return { queues, requests: () => requests, disconnect: () => connections.disconnect() }
}

export type HousekeepingProcess = {
  /** To be shown each row written, as the stream shows it; its filter asks for `work`. */
  onRow(row: Row): void
  /** Resolves when nothing is left to do; rejects if something went wrong. */
  idle(): Promise<void>
  stop(): Promise<void>
}

/** To the process: a queue has work. From it: it has begun with that queue's, or has nothing left to do. */
type ToProcess = { readonly due: string } | 'whenIdle'
type FromProcess = { readonly begun: string } | 'idle'

export function startHousekeeping(stores: Stores): HousekeepingProcess {
  const child = fork(import.meta.filename, [JSON.stringify(stores)])
  const tell = (message: ToProcess) => void child.send(message)
  // A stream costs the writer nothing: so each queue is told of once, until its work begins.
  const told = new Set<string>()
  let whenIdle = Promise.withResolvers<void>()
  child.on('message', (message: FromProcess) => {
    if (message === 'idle') whenIdle.resolve()
    else told.delete(message.begun)
  })
  const ended = new Promise<void>((resolve) => {
    child.once('exit', (code) => {
      whenIdle.reject(new Error(`Housekeeping ended with ${code}`))
      resolve()
    })
  })
  return {
    onRow({ pk, work }) {
      const queue = String(pk).slice('q#'.length)
      if (work === undefined || told.has(queue)) return
      told.add(queue)
      tell({ due: queue })
    },
    async idle() {
      whenIdle = Promise.withResolvers<void>()
      tell('whenIdle')
      await whenIdle.promise
    },
    async stop() {
      await this.idle()
      child.disconnect()
      await ended
    },
  }
}

if (import.meta.main) {
  const [, , stores = '{}'] = process.argv
  const tell = (message: FromProcess) => void process.send?.(message)
  const rowOf = (queue: string): Row => ({ pk: `q#${queue}`, work: 'y' })
  const { queues, disconnect } = connectEngine(JSON.parse(stores) as Stores, (row) =>
    housekeeper.onRow(row),
  )
  const housekeeper = createHousekeeper(() => ({
    housekeep(queue) {
      tell({ begun: queue })
      return queues.housekeep(queue)
    },
  }))
  process.on('message', async (message: ToProcess) => {
    if (message !== 'whenIdle') return housekeeper.onRow(rowOf(message.due))
    await housekeeper.idle()
    tell('idle')
  })
  process.once('disconnect', () => {
    disconnect()
    process.exit(0)
  })
}
