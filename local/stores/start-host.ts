// Starts the process that holds the embedded stores, talks to it, and cleans up after it if it is killed.

import { type ChildProcess, fork } from 'node:child_process'
import { rmSync } from 'node:fs'
import { extname, join } from 'node:path'
import { StartError } from '../start-error.ts'
import type { HostCommand, HostReport, HostRequest } from './host.ts'

/** The Node version that s3rver requires. */
const NODE_MIN = 24

/** JavaScript in the package. */
const hostFile = join(import.meta.dirname, `host${extname(import.meta.filename)}`)

export type Host = {
  readonly dynamodbEndpoint?: string | undefined
  readonly s3Endpoint?: string | undefined
  readonly sqsEndpoint?: string | undefined
  /** Where it keeps its files, even if that is a temporary folder. */
  readonly directory?: string | undefined
  tell(command: HostCommand): void
  /** Resolves once a table with a stream can be written to without slowing down. */
  indexStream(): Promise<void>
  /** Resolves if the stores end without being asked to. */
  readonly failed: Promise<Error>
  stop(): Promise<void>
}

export function checkNode(running: string): void {
  if (Number.parseInt(running, 10) >= NODE_MIN) return
  throw new StartError(
    `Cannot start the embedded stores because they need Node ${NODE_MIN} or newer, and this is v${running}; switch to ` +
      `a newer one, or put it into your project: npm install --save-dev node@${NODE_MIN}`,
  )
}

/**
 * `ownGroup` keeps the host out of reach of Ctrl-C, which goes to all processes of a terminal's foreground
 * group: the parent first answers its requests in flight, and then stops the stores.
 */
export async function startHost(request: HostRequest, { ownGroup = false } = {}): Promise<Host> {
  checkNode(process.versions.node)
  const child = fork(hostFile, [JSON.stringify(request)], {
    execArgv: [],
    detached: ownGroup,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const leavings: { pid?: number; directory?: string } = {}
  let indexed = () => {}
  let failure: string | undefined
  let stopping = false

  const ready = await new Promise<Partial<Host>>((resolve, reject) => {
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
        case 'indexed':
          return indexed()
        case 'failed':
          failure = report.message
          return reject(new StartError(report.message))
        default:
          return report satisfies never
      }
    })
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      failure ??= `Cannot go on because the process of the embedded stores ended: ${signal ?? code}`
      reject(new StartError(failure))
      // It was killed and could not clean up.
      if (code === null || code !== 0) cleanUp(leavings)
    })
  })

  // A script that forgets to stop still ends; the host notices.
  child.unref()
  child.channel?.unref()
  const tell = (command: HostCommand) => {
    // Without a callback a channel that closes just now would be an error of the child's.
    if (child.connected) child.send(command, () => {})
  }
  const failed = new Promise<Error>((resolve) => {
    child.once('exit', () => {
      if (!stopping) resolve(new StartError(failure ?? 'the embedded stores ended by themselves'))
    })
  })

  return {
    ...ready,
    failed,
    tell,
    indexStream: () =>
      new Promise((resolve) => {
        indexed = resolve
        tell({ kind: 'index stream' })
      }),
    async stop() {
      stopping = true
      await stopHost(child, exited)
    },
  }
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
