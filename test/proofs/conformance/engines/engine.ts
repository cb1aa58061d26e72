// Implementations that others have made of DynamoDB, S3 and SQS: got once, kept in a cache outside the repository,
// and started on this machine.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export type Engine = {
  /** As the table of excuses has it. */
  readonly name: string
  /** The programs that get it and run it. */
  readonly needs: readonly Program[]
  /** Gets it into this folder. */
  readonly get: (folder: string) => void
  readonly run: (folder: string, place: Place) => Run
  /** Answers once it takes requests. */
  readonly path: string
  readonly key?: Key | undefined
}

export type Program = 'java' | 'mvn' | 'go'
export type Key = { readonly accessKeyId: string; readonly secretAccessKey: string }

type Place = {
  readonly port: number
  /** For its data; it goes at the end. */
  readonly scratch: string
  freePort(): Promise<number>
}

type Run = {
  readonly command: string
  readonly args: readonly string[] | Promise<readonly string[]>
  readonly env?: Readonly<Record<string, string>>
}

export type Started = { readonly endpoint: string; stop(): Promise<void> }

/** Java takes a second or two, on a busy machine a minute. */
const START_MS_MAX = 120_000

const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'pushpop-engines')

/** What another engine of the same version has put there is as good. */
export function got({ name, get }: Engine): string {
  const folder = join(cache, name.toLowerCase().replaceAll(' ', '-'))
  if (existsSync(folder)) return folder
  console.log(`Getting ${name} into ${folder}`)
  mkdirSync(cache, { recursive: true })
  const unfinished = mkdtempSync(`${folder}-`)
  try {
    get(unfinished)
    renameSync(unfinished, folder)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    // Go keeps what it has got read-only.
    throw new Error(`Cannot get ${name} because of this: ${(error as Error).message}`)
  }
  return folder
}

export async function start(engine: Engine, folder: string): Promise<Started> {
  const port = await freePort()
  const scratch = mkdtempSync(join(tmpdir(), 'pushpop-engine-'))
  const { command, args, env } = engine.run(folder, { port, scratch, freePort })
  const child = spawn(command, await args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      // Enough to see why it did not start.
      if (said.length < 10_000) said += text
    })
  }
  const ended = once(child, 'close')
  const kill = () => child.kill('SIGKILL')
  process.on('exit', kill)
  const stop = async () => {
    process.off('exit', kill)
    kill()
    await ended
    rmSync(scratch, { recursive: true, force: true })
  }
  const endpoint = `http://127.0.0.1:${port}`
  const deadlineMs = Date.now() + START_MS_MAX
  while (!(await answers(`${endpoint}${engine.path}`))) {
    if (child.exitCode === null && Date.now() < deadlineMs) {
      await delay(200)
      continue
    }
    await stop()
    throw new Error(`Cannot go on because ${engine.name} did not start:\n${said}`)
  }
  return { endpoint, stop }
}

const answers = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(5_000) }).then(
    ({ status }) => status < 500,
    () => false,
  )

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Runs a program that gets something; what it says is shown. */
export function getBy(
  program: Program,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): void {
  execFileSync(program, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}
