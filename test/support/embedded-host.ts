// The process that holds the embedded stores: s3rver inside it, dynoxide as its child. It is a
// process of its own because only so does something survive to clean up when a test process is
// killed: the channel to the parent then closes, and the host stops dynoxide, removes the temporary
// folder and goes. It also leaves the test's event loop to the test.
//
// If it is the host that is killed, the parent does the same for it (embedded.ts).

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedDynamodb, startDynoxide } from './embedded-dynamodb.ts'
import { type EmbeddedS3, startS3 } from './embedded-s3.ts'

export type HostRequest = {
  /** Absent where DynamoDB is somewhere else. */
  readonly dynoxide?: string
  readonly s3: boolean
  /** Absent: in memory, and for S3 a temporary folder. */
  readonly directory?: string
}

export type HostReport =
  | { readonly kind: 'temporary'; readonly directory: string }
  | { readonly kind: 'dynoxide'; readonly pid: number }
  | {
      readonly kind: 'ready'
      readonly dynamodbEndpoint?: string
      readonly s3Endpoint?: string
    }
  | { readonly kind: 'failed'; readonly message: string }

const request = JSON.parse(process.argv[2] ?? '{}') as HostRequest

let temporary: string | undefined
let dynamodb: Promise<EmbeddedDynamodb> | undefined
let s3: Promise<EmbeddedS3> | undefined
let stopping = false

process.on('disconnect', () => stop(0))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(0))

async function start() {
  if (request.directory) await mkdir(request.directory, { recursive: true })
  if (request.s3 && !request.directory) {
    temporary = await mkdtemp(join(tmpdir(), 'pushpop-embedded-'))
    report({ kind: 'temporary', directory: temporary })
  }
  if (stopping) return

  const file = request.directory && join(request.directory, 'dynamodb.sqlite')
  if (request.dynoxide) dynamodb = startDynoxide(request.dynoxide, file)
  const s3Directory = request.directory ?? temporary
  if (request.s3 && s3Directory) s3 = startS3(s3Directory)
  const [startedDynamodb, startedS3] = await Promise.all([dynamodb, s3])

  if (startedDynamodb) {
    startedDynamodb.process.on('exit', () => fail('the embedded DynamoDB ended by itself'))
    report({ kind: 'dynoxide', pid: startedDynamodb.process.pid ?? 0 })
  }
  report({
    kind: 'ready',
    ...(startedDynamodb && { dynamodbEndpoint: startedDynamodb.endpoint }),
    ...(startedS3 && { s3Endpoint: startedS3.endpoint }),
  })
}

async function stop(exitCode: number) {
  if (stopping) return
  stopping = true
  // Whatever is still starting has to start before it can be stopped.
  await Promise.allSettled([dynamodb?.then((it) => it.stop()), s3?.then((it) => it.stop())])
  if (temporary) await rm(temporary, { recursive: true, force: true, maxRetries: 3 })
  process.exit(exitCode)
}

async function fail(message: string) {
  if (stopping) return
  report({ kind: 'failed', message })
  await stop(1)
}

function report(message: HostReport) {
  // The parent may be gone already; then the disconnect stops us.
  if (process.connected) process.send?.(message, () => {})
}

start().catch((error: unknown) => fail(error instanceof Error ? error.message : String(error)))
