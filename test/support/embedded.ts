// DynamoDB and S3 on this machine for one test file, one simulation or one benchmark.

import { type ChildProcess, fork } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { createTable } from './create-table.ts'
import { findDynoxide, noDynoxideError, type Platform } from './embedded-dynamodb.ts'
import type { HostReport, HostRequest } from './embedded-host.ts'

export type Endpoints = { readonly dynamodbEndpoint: string; readonly s3Endpoint: string }

export type Connections = Endpoints & {
  readonly dynamodb: DynamoDBClient
  readonly s3: S3Client
  createTable(name: string): Promise<void>
  createBucket(name: string): Promise<void>
  /** Closes the clients; the stores go on. */
  disconnect(): void
}

export type Embedded = Connections & { stop(): Promise<void> }

export type EmbeddedOptions = {
  /** Keeps the data there. Without it everything is gone after `stop`. */
  readonly directory?: string
  /** PUSHPOP_DYNAMODB_ENDPOINT and PUSHPOP_S3_ENDPOINT replace what would be started. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly platform?: Platform
}

export async function startEmbedded(options: EmbeddedOptions = {}): Promise<Embedded> {
  const { directory, environment = process.env, platform = process } = options
  const elsewhere = {
    dynamodbEndpoint: environment.PUSHPOP_DYNAMODB_ENDPOINT || undefined,
    s3Endpoint: environment.PUSHPOP_S3_ENDPOINT || undefined,
  }
  const dynoxide = elsewhere.dynamodbEndpoint ? undefined : findDynoxide(platform)
  if (!elsewhere.dynamodbEndpoint && !dynoxide) throw noDynoxideError(platform)

  const host = await startHost({
    ...(dynoxide && { dynoxide }),
    s3: !elsewhere.s3Endpoint,
    ...(directory && { directory }),
  })
  const connections = connectEmbedded({
    dynamodbEndpoint: elsewhere.dynamodbEndpoint ?? host.dynamodbEndpoint ?? '',
    s3Endpoint: elsewhere.s3Endpoint ?? host.s3Endpoint ?? '',
  })
  return {
    ...connections,
    async stop() {
      connections.disconnect()
      await host.stop()
    },
  }
}

/** The clients alone, for another process than the one that started the stores. */
export function connectEmbedded({ dynamodbEndpoint, s3Endpoint }: Endpoints): Connections {
  const common = {
    region: 'us-east-1',
    // s3rver knows this one key only; dynoxide takes any.
    credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    // A lost answer has to reach the code under test, not be repeated below it.
    maxAttempts: 1,
    // Above the 50 of the SDK, so that a test of contention does not queue in its own client.
    requestHandler: { httpAgent: { keepAlive: true, maxSockets: 256 } },
  }
  const dynamodb = new DynamoDBClient({ ...common, endpoint: dynamodbEndpoint })
  const s3 = new S3Client({ ...common, endpoint: s3Endpoint, forcePathStyle: true })
  return {
    dynamodbEndpoint,
    s3Endpoint,
    dynamodb,
    s3,
    createTable: (name) => createTable(dynamodb, name),
    async createBucket(name) {
      await s3.send(new CreateBucketCommand({ Bucket: name }))
    },
    disconnect() {
      dynamodb.destroy()
      s3.destroy()
    },
  }
}

type Host = Partial<Endpoints> & { stop(): Promise<void> }

async function startHost(request: HostRequest): Promise<Host> {
  if (!request.dynoxide && !request.s3) return { stop: async () => {} }

  const child = fork(join(import.meta.dirname, 'embedded-host.ts'), [JSON.stringify(request)], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const leavings: { pid?: number; directory?: string } = {}

  const ready = await new Promise<Partial<Endpoints>>((resolve, reject) => {
    child.on('message', (report: HostReport) => {
      switch (report.kind) {
        case 'temporary':
          leavings.directory = report.directory
          return
        case 'dynoxide':
          leavings.pid = report.pid
          return
        case 'ready':
          return resolve(report)
        case 'failed':
          return reject(new Error(report.message))
        default:
          return report satisfies never
      }
    })
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      reject(
        new Error(
          `Cannot start the embedded stores because their process ended: ${signal ?? code}`,
        ),
      )
      // Killed, it could not clean up behind itself.
      if (code === null || code !== 0) cleanUp(leavings)
    })
  })

  // A script that forgets to stop still ends; the host notices.
  child.unref()
  child.channel?.unref()
  return { ...ready, stop: () => stopHost(child, exited) }
}

async function stopHost(child: ChildProcess, exited: Promise<unknown>) {
  child.ref()
  if (child.connected) child.disconnect()
  const impatience = setTimeout(() => child.kill('SIGKILL'), 5000)
  await exited
  clearTimeout(impatience)
}

function cleanUp({ pid, directory }: { pid?: number; directory?: string }) {
  try {
    if (pid) process.kill(pid, 'SIGKILL')
  } catch {
    // Already gone.
  }
  if (directory) rmSync(directory, { recursive: true, force: true })
}
