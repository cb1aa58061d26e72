// One of the processes that use the same queues at the same time: its own clients, its own engine,
// its own memory, and a clock that may be wrong. The test tells it which queue to play on.

import type { Queues } from '../../../engine/queues.ts'
import { connectEmbedded, type StoreEndpoints } from '../../../testing/embedded.ts'
import { Random } from '../../../testing/random.ts'
import { serveQuestions, settingOfWorker } from '../../support/worker-process.ts'
import { type Background, watchBackground } from './background.ts'
import { type Lossy, lossyClients } from './lossy-client.ts'
import { play, type Style } from './player.ts'
import { createRecorder, type RecordedCall } from './recorder.ts'

export type WorkerSetting = StoreEndpoints & {
  readonly name: string
  readonly tableName: string
  readonly bucketName: string
  /** The module that exports `createQueues`. */
  readonly engine: string
}

export type Play = {
  readonly queue: string
  readonly seed: number
  readonly operations: number
  readonly style: Style
  /** How wrong this process's clock is, on this queue. */
  readonly clockSkewMs: number
}

export type Played = {
  readonly calls: readonly RecordedCall[]
  readonly engineFaults: readonly string[]
  /** Since the last answer: plays of one worker overlap. */
  readonly backgroundFailed: number
  readonly failures: Readonly<Record<string, number>>
  readonly injected: number
}

export type CreateQueues = (options: {
  tableName: string
  bucketName: string
  dynamodb: ReturnType<typeof connectEmbedded>['dynamodb']
  s3: ReturnType<typeof connectEmbedded>['s3']
  clock?: { nowMs(): number; sleep(ms: number): Promise<void> }
  onBackgroundError?: Background['onBackgroundError']
}) => Queues

const setting = settingOfWorker<WorkerSetting>()
const { createQueues } = (await import(setting.engine)) as { createQueues: CreateQueues }

const background = watchBackground()

/** Each queue gets its own clients, so that a fault meets the operation it is meant for. */
function connect(clockSkewMs: number): { queues: Queues; lossy: Lossy; disconnect(): void } {
  const connections = connectEmbedded(setting)
  const lossy = lossyClients(connections)
  const queues = createQueues({
    tableName: setting.tableName,
    bucketName: setting.bucketName,
    dynamodb: connections.dynamodb,
    s3: connections.s3,
    clock: {
      nowMs: () => Date.now() + clockSkewMs,
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    },
    onBackgroundError: background.onBackgroundError,
  })
  return { queues, lossy, disconnect: connections.disconnect }
}

/** By their clocks. */
const idle = new Map<number, ReturnType<typeof connect>[]>()

async function playOn({ queue, seed, operations, style, clockSkewMs }: Play): Promise<Played> {
  const idleNow = idle.get(clockSkewMs) ?? []
  idle.set(clockSkewMs, idleNow)
  const connection = idleNow.pop() ?? connect(clockSkewMs)
  const { queues, lossy } = connection
  const before = lossy.faults()
  const recorder = createRecorder(queues, queue, setting.name, style.characters)
  await play({
    style,
    operations,
    worker: setting.name,
    random: new Random(seed),
    recorder,
    lossy,
  })
  idleNow.push(connection)
  const backgroundFailed = background.failed
  background.failed = 0
  return {
    calls: recorder.calls,
    engineFaults: [...recorder.faults, ...background.faults.splice(0)],
    backgroundFailed,
    failures: recorder.failures,
    injected: lossy.faults() - before,
  }
}

serveQuestions(playOn)
