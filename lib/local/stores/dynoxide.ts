// DynamoDB as a child process: the dynoxide binary of this platform, on SQLite.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
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
    const outcome = await tryStart(binary, await freePort(), file)
    if (outcome.kind === 'started') return outcome.dynamodb
    // Someone took the port between our look and its bind.
    if (attempt < startAttemptsMax && outcome.output.includes('in use')) continue
    throw new StartError(`Cannot start the embedded DynamoDB because ${outcome.output.trim()}`)
  }
}

type StartOutcome =
  | { readonly kind: 'started'; readonly dynamodb: EmbeddedDynamodb }
  | { readonly kind: 'exited'; readonly output: string }

async function tryStart(binary: string, port: number, file?: string): Promise<StartOutcome> {
  const args = ['serve', '--host', '127.0.0.1', '--port', String(port)]
  if (file) args.push('--db-path', file)
  // Not detached: whoever kills our process group takes it along.
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
      const endpoint = `http://127.0.0.1:${port}`
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
