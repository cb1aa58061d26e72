// S3 in this process: s3rver on a folder, with three of its writes replaced.

import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import type S3rver from '@20minutes/s3rver'
import { isFromAPage, NOT_FOR_PAGES } from '../foreign-pages/from-a-page.ts'
import { StartError } from '../start-error.ts'

export type EmbeddedS3 = { readonly endpoint: string; stop(): void }

export async function startS3(directory: string): Promise<EmbeddedS3> {
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
