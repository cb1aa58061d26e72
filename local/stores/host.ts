// The process that holds the embedded stores: s3rver and SQS inside it, dynoxide as its child. It is a separate
// process so that one survives to clean up if its parent is killed: the channel to the parent
// closes, and the host kills the processes that it watches, stops dynoxide, removes the temporary folder and
// ends. It also keeps the stores' work out of the parent's event loop.
//
// If the host itself is killed, the parent cleans up after it (start-host.ts).

import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { LocalServer } from '../loopback.ts'
import { startSqs } from '../sqs/start-sqs.ts'
import { messageOf, StartError } from '../start-error.ts'
import { type EmbeddedDynamodb, StreamRows, startDynoxide, startS3 } from './embedded.ts'
import { lockFolder, makeTemporaryFolder, type Owner } from './folder.ts'

export type HostRequest = {
  /** Absent if DynamoDB is somewhere else. */
  readonly dynoxide?: string | undefined
  readonly s3: boolean
  readonly sqs?: boolean | undefined
  /** Without it, a temporary folder that is removed at the end. */
  readonly directory?: string | undefined
  /** DynamoDB without a file: the fastest, but a stream in it slows down with every record. */
  readonly dynamodbInMemory?: boolean | undefined
  /** The stack that wants the folder to itself. */
  readonly owner?: Owner | undefined
}

export type HostCommand =
  | { readonly kind: 'index stream' }
  | { readonly kind: 'trim stream'; readonly table: string; readonly sequenceNumber: string }
  /** A process that must not outlive the parent, whatever keeps it busy. */
  | { readonly kind: 'watch'; readonly pid: number }
  | { readonly kind: 'forget'; readonly pid: number }

export type HostReport =
  | { readonly kind: 'temporary'; readonly directory: string }
  | { readonly kind: 'dynoxide'; readonly pid: number }
  | {
      readonly kind: 'ready'
      readonly directory?: string | undefined
      readonly dynamodbEndpoint?: string | undefined
      readonly s3Endpoint?: string | undefined
      readonly sqsEndpoint?: string | undefined
    }
  | { readonly kind: 'indexed' }
  | { readonly kind: 'failed'; readonly message: string }

const request = JSON.parse(process.argv[2] ?? '{}') as HostRequest
const watched = new Set<number>()

let temporary: string | undefined
let dynamodb: Promise<EmbeddedDynamodb> | undefined
let s3: Promise<LocalServer> | undefined
let sqs: Promise<LocalServer> | undefined
let streamRows: StreamRows | undefined
let databaseFile: string | undefined
let stopping = false

process.on('disconnect', () => stop(0))
process.on('message', (command: HostCommand) => {
  try {
    obey(command)
  } catch (error) {
    fail(messageOf(error))
  }
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(0))

async function start() {
  const directory = request.directory ?? (await makeTemporary())
  if (directory) await prepare(directory)
  if (stopping) return

  if (directory && !request.dynamodbInMemory) databaseFile = join(directory, 'dynamodb.sqlite')
  if (request.dynoxide) dynamodb = startDynoxide(request.dynoxide, databaseFile)
  if (request.s3 && directory) s3 = startS3(directory)
  if (request.sqs && directory) sqs = startSqsIn(directory)
  const [startedDynamodb, startedS3, startedSqs] = await Promise.all([dynamodb, s3, sqs])

  if (startedDynamodb) {
    startedDynamodb.process.on('exit', () => fail('the embedded DynamoDB ended by itself'))
    report({ kind: 'dynoxide', pid: startedDynamodb.process.pid ?? 0 })
  }
  report({
    kind: 'ready',
    directory,
    ...(startedDynamodb && { dynamodbEndpoint: startedDynamodb.endpoint }),
    ...(startedS3 && { s3Endpoint: startedS3.endpoint }),
    ...(startedSqs && { sqsEndpoint: startedSqs.endpoint }),
  })
}

const startSqsIn = (directory: string): Promise<LocalServer> =>
  startSqs({
    file: join(directory, 'sqs.sqlite'),
    onBroken: (error) => fail(`the embedded SQS cannot write its file: ${messageOf(error)}`),
  })

async function prepare(directory: string) {
  try {
    const isNew = await makeFolder(directory)
    // A machine's data belongs in no repository. In a folder that existed before, that is not for us to decide.
    if (isNew && request.owner) await writeFile(join(directory, '.gitignore'), '*\n')
    if (request.owner) await refuseForeign(directory)
    if (request.owner) await lockFolder(directory, request.owner)
  } catch (error) {
    if (error instanceof StartError) throw error
    throw new StartError(
      `Cannot use the data folder ${directory} because of this: ${messageOf(error)}`,
    )
  }
}

/**
 * Says whether it made it. Not `recursive`: Node goes on for ever if a folder cannot be made although its parent is
 * there (/proc/x).
 */
async function makeFolder(directory: string): Promise<boolean> {
  try {
    await mkdir(directory)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    if (code !== 'ENOENT' || dirname(directory) === directory) throw error
    await makeFolder(dirname(directory))
    await mkdir(directory)
  }
  return true
}

const ourFiles = ['dynamodb.sqlite', 'lock.sqlite', 'owner.json']

/** Somebody else's files must not end among ours. Those of the system (.DS_Store) do not count. */
async function refuseForeign(directory: string): Promise<void> {
  const names = (await readdir(directory)).filter((name) => !name.startsWith('.'))
  if (names.length === 0 || names.some((name) => ourFiles.includes(name))) return
  throw new StartError(
    `Cannot use the data folder ${directory} because it holds other files (${names[0]}); ` +
      'choose a new or an empty one with --data',
  )
}

async function makeTemporary(): Promise<string | undefined> {
  if (!request.s3 && request.dynamodbInMemory) return undefined
  temporary = await makeTemporaryFolder()
  report({ kind: 'temporary', directory: temporary })
  return temporary
}

function obey(command: HostCommand) {
  switch (command.kind) {
    case 'watch':
      watched.add(command.pid)
      return
    case 'forget':
      watched.delete(command.pid)
      return
    case 'index stream':
      if (databaseFile && request.dynoxide) {
        streamRows ??= new StreamRows(databaseFile)
        streamRows.addIndex()
      }
      return report({ kind: 'indexed' })
    case 'trim stream':
      streamRows?.trim(command.table, command.sequenceNumber)
      return
    default:
      command satisfies never
  }
}

async function stop(exitCode: number) {
  if (stopping) return
  stopping = true
  for (const pid of watched) kill(pid)
  streamRows?.close()
  // A store that is still starting has to start before it can be stopped.
  await Promise.allSettled([
    dynamodb?.then((it) => it.stop()),
    s3?.then((it) => it.stop()),
    sqs?.then((it) => it.stop()),
  ])
  if (temporary) await rm(temporary, { recursive: true, force: true, maxRetries: 3 })
  process.exit(exitCode)
}

async function fail(message: string) {
  if (stopping) return
  report({ kind: 'failed', message })
  await stop(1)
}

function kill(pid: number) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Already gone.
  }
}

function report(message: HostReport) {
  // The parent may be gone already; then the disconnect stops us.
  if (process.connected) process.send?.(message, () => {})
}

start().catch((error: unknown) => fail(messageOf(error)))
