// The two kinds of places that every command works on, on this machine.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { startLocalStack, startQueues, type TestQueues } from '../../testing/index.ts'
import { keptEnvironment } from '../support/environment.ts'
import { type Line, type RunOptions, run, spawnCli, wordsOf } from './a-run.ts'

export type Started = {
  /** What names the place on a command line. */
  readonly options: readonly string[]
  readonly env: Readonly<Record<string, string>>
  stop(): Promise<void>
}

async function startHttp(): Promise<Started> {
  const stack = await startLocalStack({ port: 0 })
  return { options: ['--endpoint', stack.url], env: {}, stop: () => stack.stop() }
}

export async function startStore(): Promise<Started & { readonly store: TestQueues }> {
  const store = await startQueues({ name: 'cli' })
  const env = store.environment
  // The SDK reads the environment of the process, in a run within it too.
  const putBack = keptEnvironment()
  Object.assign(process.env, env)
  const stop = () => {
    putBack()
    return store.stop()
  }
  return { store, options: ['--table', 'cli', '--bucket', 'cli'], env, stop }
}

/** A place for all tests of a file, or of one `describe`, and what they do on it. */
export function usePlace<P extends Started>(start: () => Promise<P>) {
  let place: P
  let made = 0
  beforeAll(async () => {
    place = await start()
  })
  afterAll(() => place?.stop())
  const placed = (line: Line) => {
    const [name = '', ...args] = wordsOf(line)
    return [name, ...place.options, ...args]
  }
  return {
    place: () => place,
    queue: () => `q-${++made}`,
    pushpop: (line: Line, options?: RunOptions) => run(placed(line), options),
    spawned: (line: Line) => spawnCli(placed(line), { ...place.env }),
  }
}

/** The path of a file in a folder that goes away with the tests. */
export function useFolder(): (name: string) => string {
  const folder = mkdtempSync(join(tmpdir(), 'pushpop-test-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  return (name) => join(folder, name)
}

/** A server with this listener, and its address. */
export function useServer(listener: RequestListener): () => string {
  const server = createServer(listener)
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  return () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The two kinds of places that every command works on. */
export const places = [
  { name: 'an API', start: startHttp },
  { name: 'a table and bucket', start: startStore },
] as const
