// The embedded DynamoDB (dynoxide, a child process on SQLite) and the embedded S3 (s3rver, in this process), with what
// we mend in them: who may call, how fast a stream is, and writes that a crash or a reader could see half.

import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import type { default as S3rver } from '@20minutes/s3rver'
import { isFromAPage, type LocalServer, NOT_FOR_PAGES } from '../loopback.ts'
import { StartError } from '../start-error.ts'

export type EmbeddedDynamodb = {
  readonly endpoint: string
  readonly process: ChildProcess
  stop(): Promise<void>
}

const startAttemptsMax = 5

/** Without a file the data is in memory. */
export async function startDynoxide(binary: string, file?: string): Promise<EmbeddedDynamodb> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await tryStart(binary, await freePlace(), file)
    if (outcome.kind === 'started') return outcome.dynamodb
    // Someone took the port between our look and its bind.
    if (attempt < startAttemptsMax && outcome.output.includes('in use')) continue
    const where = file === undefined ? '' : ` on the file ${file}`
    throw new StartError(
      `Cannot start the embedded DynamoDB${where} because ${outcome.output.trim()}`,
    )
  }
}

type StartOutcome =
  | { readonly kind: 'started'; readonly dynamodb: EmbeddedDynamodb }
  | { readonly kind: 'exited'; readonly output: string }

async function tryStart(
  binary: string,
  { address, port }: AddressInfo,
  file?: string,
): Promise<StartOutcome> {
  const args = ['serve', '--host', address, '--port', String(port)]
  if (file) args.push('--db-path', file)
  // Do not detach it, so that a signal that kills our process group kills it too.
  const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''

  return new Promise((resolve) => {
    const listen = (text: string) => {
      output += text
      // Its own word, not a connection: a stranger on the same port would answer one too.
      if (!output.includes('listening on')) return
      child.stdout.off('data', listen).resume()
      child.stderr.off('data', listen).resume()
      child.removeAllListeners('close')
      const endpoint = `http://${address}:${port}`
      resolve({
        kind: 'started',
        dynamodb: { endpoint, process: child, stop: () => stop(child) },
      })
    }
    child.stdout.setEncoding('utf8').on('data', listen)
    child.stderr.setEncoding('utf8').on('data', listen)
    child.once('error', (error) => resolve({ kind: 'exited', output: error.message }))
    child.once('close', () => resolve({ kind: 'exited', output }))
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const impatience = setTimeout(() => child.kill('SIGKILL'), 2000)
  await exited
  clearTimeout(impatience)
}

/**
 * dynoxide lets web pages of all origins call it and has no option against that. So it listens to a random
 * address of 127.0.0.0/8 and a free port there: with 16 million addresses a page cannot try them all. macOS
 * has only 127.0.0.1; there a page that tries all ports may find it.
 */
async function freePlace(): Promise<AddressInfo> {
  const secret = `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`
  try {
    return await freePlaceAt(secret)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRNOTAVAIL') throw error
    return freePlaceAt('127.0.0.1')
  }
}

async function freePlaceAt(host: string): Promise<AddressInfo> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const place = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return place
}

/** Longer than dynoxide writes at once, on any machine that works. */
const INDEX_WAITS_MS = 5_000
/** S3 and SQS, in this process, wait with it; and a trim comes every second. */
const TRIM_WAITS_MS = 200
const SQLITE_BUSY = 5

/** A delete holds the one lock that dynoxide writes under; so many rows take some milliseconds. */
const ROWS_PER_DELETE = 2_000

/**
 * Works on dynoxide's own rows of the streams, beside dynoxide.
 *
 * Each write to a table with a stream looks for the highest sequence number, which dynoxide does without an index:
 * 1,200 writes a second become 450 after 20,000 records. With the index below they stay at 1,400. dynoxide also keeps
 * each record for 24 hours, though nobody reads it again once every mapping is past it.
 */
export class StreamRows {
  readonly #database: DatabaseSync

  constructor(file: string) {
    this.#database = new DatabaseSync(file)
  }

  /** Call this once a table with a stream exists. */
  addIndex(): void {
    this.#waitFor(INDEX_WAITS_MS)
    this.#database.exec(
      'CREATE INDEX IF NOT EXISTS pushpop_stream ON _stream_records ' +
        '(table_name, CAST(sequence_number AS INTEGER))',
    )
  }

  /**
   * Deletes the rows up to and including the sequence number, and returns how many there were. Deletes none while
   * dynoxide is busy: the next trim takes them along.
   */
  trim(tableName: string, sequenceNumber: string): number {
    this.#waitFor(TRIM_WAITS_MS)
    try {
      return this.#trim(tableName, sequenceNumber)
    } catch (error) {
      if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return 0
      throw error
    }
  }

  close(): void {
    this.#database.close()
  }

  #waitFor(ms: number): void {
    this.#database.exec(`PRAGMA busy_timeout = ${ms}`)
  }

  #trim(tableName: string, sequenceNumber: string): number {
    const { changes } = this.#database
      .prepare(
        'DELETE FROM _stream_records WHERE id IN (' +
          'SELECT id FROM _stream_records WHERE table_name = :table ' +
          'AND CAST(sequence_number AS INTEGER) <= CAST(:to AS INTEGER) ' +
          // Without its newest record a stream begins to number at 1 again.
          'AND CAST(sequence_number AS INTEGER) < (SELECT MAX(CAST(sequence_number AS INTEGER)) ' +
          'FROM _stream_records WHERE table_name = :table) ' +
          'ORDER BY CAST(sequence_number AS INTEGER) LIMIT :rows)',
      )
      .run({ table: tableName, to: sequenceNumber, rows: ROWS_PER_DELETE })
    return Number(changes)
  }
}

/** s3rver on a folder, with three of its writes replaced. */
export async function startS3(directory: string): Promise<LocalServer> {
  const buckets = join(directory, 's3')
  // Beside the buckets, not among them, so that no listing shows a write that a crash cut off.
  const incoming = join(directory, 's3-incoming')
  await rm(incoming, { recursive: true, force: true })
  await Promise.all([mkdir(buckets, { recursive: true }), mkdir(incoming, { recursive: true })])

  const server = new (await loadS3rver())({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory: buckets,
    vhostBuckets: false,
    // It computes other signatures than the SDK does, and we keep nobody out.
    allowMismatchedSignatures: true,
  })
  // It serves unsigned requests, so this check has to come before everything else.
  server.middleware.unshift(async (context, next) => {
    if (!isFromAPage(context.req.headers)) return next()
    context.status = 403
    context.body = NOT_FOR_PAGES
  })
  writeByRename(server.store, incoming)
  const { port } = await server.run()
  return {
    endpoint: `http://127.0.0.1:${port}`,
    stop() {
      server.httpServer.close()
      server.httpServer.closeAllConnections()
    },
  }
}

/** An optional peer of the package. */
async function loadS3rver(): Promise<typeof S3rver> {
  try {
    return (await import('@20minutes/s3rver')).default
  } catch (cause) {
    throw new StartError(
      'Cannot start the embedded S3 because @20minutes/s3rver is not installed: npm install --save-dev @20minutes/s3rver',
      { cause },
    )
  }
}

/**
 * s3rver overwrites in place: killed in the middle of a repeated PUT it damaged good objects, and
 * readers saw half of one. Copying a segment again is ordinary for PushPop, so a write goes to
 * another name first and a rename makes it visible, whole, as on S3.
 */
function writeByRename(store: S3rver['store'], incoming: string) {
  const putContent = store.putContent.bind(store)
  const putMetadata = store.putMetadata

  store.putContent = async (path, content) => {
    const temporary = join(incoming, randomUUID())
    // For a buffer s3rver does not wait for the write to end; for a stream it does.
    const stream = Buffer.isBuffer(content) ? Readable.from([content]) : content
    const written = await putContent(temporary, stream)
    await moveInto(temporary, path)
    return written
  }

  store.putMetadata = async (bucket, key, metadata, md5) => {
    const names = { 'metadata.json': join(incoming, randomUUID()), 'object.md5': '' }
    if (md5) names['object.md5'] = join(incoming, randomUUID())
    const elsewhere = {
      getResourcePath: (_bucket: string, _key: string, resource: keyof typeof names) =>
        names[resource],
    }
    await putMetadata.call(elsewhere as unknown as S3rver['store'], bucket, key, metadata, md5)
    for (const [resource, temporary] of Object.entries(names)) {
      if (temporary) await moveInto(temporary, store.getResourcePath(bucket, key, resource))
    }
  }

  // s3rver removes a folder that it saw empty with everything in it, and could so remove an object that
  // was put in between.
  store.deleteObject = async (bucket, key) => {
    const resources = ['object', 'object.md5', 'metadata.json']
    const paths = resources.map((resource) => store.getResourcePath(bucket, key, resource))
    for (const path of paths) await unlink(path).catch(ignore('ENOENT'))
    let folder = dirname(paths[0] ?? '')
    while (folder.startsWith(`${store.getBucketPath(bucket)}/`)) {
      const removed = await rmdir(folder).then(() => true, ignore('ENOTEMPTY', 'ENOENT'))
      if (!removed) return
      folder = dirname(folder)
    }
  }
}

async function moveInto(temporary: string, path: string) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await rename(temporary, path)
    } catch (error) {
      // A delete beside us took the folder, now that it was empty.
      if (attempt === 5 || !hasCode(error, 'ENOENT')) throw error
      await mkdir(dirname(path), { recursive: true })
    }
  }
}

function ignore(...codes: string[]) {
  return (error: unknown) => {
    if (!codes.some((code) => hasCode(error, code))) throw error
    return false
  }
}

function hasCode(error: unknown, code: string) {
  return error instanceof Error && 'code' in error && error.code === code
}
