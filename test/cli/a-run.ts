// Runs of the command line: in this process, for what it prints and returns, and as a process, for
// signals and kills.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { runCli } from '../../cli/run-cli.ts'

export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string }

export type RunOptions = {
  readonly stdin?: string
  readonly env?: Readonly<Record<string, string>>
  /** Somebody looks on. */
  readonly isTTY?: boolean
  readonly interrupt?: AbortSignal
  /** What was typed for `pushpop`. */
  readonly program?: string
  readonly onStdout?: (text: string) => void
}

/** The words of a command line; a list where one has a space in it. */
export type Line = string | readonly string[]

export const wordsOf = (line: Line): readonly string[] =>
  typeof line === 'string' ? line.split(' ').filter((word) => word !== '') : line

export async function run(line: Line, options: RunOptions = {}): Promise<Ran> {
  const { stdin = '', env = {}, isTTY = false, interrupt = new AbortController().signal } = options
  const { program = 'pushpop' } = options
  const out = collected(isTTY, options.onStdout)
  const err = collected(isTTY)
  const input = Object.assign(Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]), { isTTY })
  const io = { stdin: input, stdout: out.stream, stderr: err.stream, env, interrupt, program }
  const code = await runCli(wordsOf(line), io)
  return { code, stdout: out.text(), stderr: err.text() }
}

function collected(isTTY: boolean, onText: (text: string) => void = () => {}) {
  let text = ''
  const stream = new PassThrough()
  stream.setEncoding('utf8').on('data', (some: string) => {
    text += some
    onText(some)
  })
  return { stream: Object.assign(stream, { isTTY, columns: 100, rows: 20 }), text: () => text }
}

/** Each line as what it says; fails where a line is no JSON. */
export const jsonLines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

type Spawned = {
  readonly child: ChildProcess
  stdout(): string
  stderr(): string
  /** The exit code, or the signal. */
  readonly ended: Promise<number | string>
}

const main = join(import.meta.dirname, '../../cli/main.ts')

export function spawnCli(args: readonly string[], env: Record<string, string> = {}): Spawned {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text
    })
  }
  const ended = once(child, 'close').then(([code, signal]) => (signal ?? code) as number | string)
  return { child, ended, stdout: () => texts.stdout, stderr: () => texts.stderr }
}
