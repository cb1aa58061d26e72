// DynamoDB as a child process: the dynoxide binary of this platform, on SQLite.

import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
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
