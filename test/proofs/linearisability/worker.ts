// One of the processes that use the same queues at the same time: its own clients, its own engine,
// its own memory, and a clock that may be wrong. The test tells it which queue to play on.

import type { Queues } from '../../../lambdas/engine/queues.ts'
import { connectEmbedded, type StoreEndpoints } from '../../../testing/embedded.ts'
import { type Background, watchBackground } from './background.ts'
import { type Lossy, lossyClients } from './lossy-client.ts'
import { play, type Style } from './player.ts'
import { seededRandom } from './random.ts'
import { createRecorder, type RecordedCall } from './recorder.ts'

export type WorkerSetting = StoreEndpoints & {
  readonly name: string
  readonly tableName: string
  readonly bucketName: string
  /** The module that exports `createQueues`. */
  readonly engine: string
  readonly clockSkewMs: number
}

export type PlayMessage = {
  readonly queue: string
  readonly seed: number
  readonly operations: number
  readonly style: Style
}

export type PlayedMessage =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'played'
      readonly queue: string
      readonly calls: readonly RecordedCall[]
      readonly engineFaults: readonly string[]
      /** Since the last message: plays of one worker overlap. */
      readonly backgroundFailed: number
      readonly failures: Readonly<Record<string, number>>
      readonly injected: number
      readonly requests: number
    }

export type CreateQueues = (options: {
  tableName: string
  bucketName: string
  dynamodb: ReturnType<typeof connectEmbedded>['dynamodb']
  s3: ReturnType<typeof connectEmbedded>['s3']
  clock?: { nowMs(): number; sleep(ms: number): Promise<void> }
  onBackgroundError?: Background['onBackgroundError']
}) => Queues

const setting = JSON.parse(process.argv[2] ?? '{}') as WorkerSetting
const { createQueues } = (await import(setting.engine)) as { createQueues: CreateQueues }

const background = watchBackground()

/** A queue is played on with clients of its own, so that a fault meets the operation it is for. */
function connect(): { queues: Queues; lossy: Lossy; disconnect(): void } {
  const connections = connectEmbedded(setting)
  const lossy = lossyClients(connections)
  const queues = createQueues({
    tableName: setting.tableName,
    bucketName: setting.bucketName,
    dynamodb: connections.dynamodb,
    s3: connections.s3,
    clock: {
      nowMs: () => Date.now() + setting.clockSkewMs,
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    },
    onBackgroundError: background.onBackgroundError,
  })
  return { queues, lossy, disconnect: connections.disconnect }
}

const idle: ReturnType<typeof connect>[] = []

async function playOn({ queue, seed, operations, style }: PlayMessage): Promise<PlayedMessage> {
  const connection = idle.pop() ?? connect()
  const { queues, lossy } = connection
  const before = { ...lossy.counts }
  const recorder = createRecorder(queues, queue, setting.name, style.characters)
  await play({
    style,
    operations,
    worker: setting.name,
    random: seededRandom(seed),
    recorder,
    lossy,
  })
  idle.push(connection)
  const backgroundFailed = background.failed
  background.failed = 0
  return {
    kind: 'played',
    queue,
    calls: recorder.calls,
    engineFaults: [...recorder.faults, ...background.faults.splice(0)],
    backgroundFailed,
    failures: recorder.failures,
    injected: lossy.counts.faults - before.faults,
    requests: lossy.counts.requests - before.requests,
  }
}

const tell = (message: PlayedMessage) => process.send?.(message)

process.on('message', (message: PlayMessage) => {
  playOn(message).then(tell, (error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})
process.on('disconnect', () => process.exit(0))
tell({ kind: 'ready' })
