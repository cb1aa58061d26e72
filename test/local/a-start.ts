// `npm start` as a process.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from './a-stack.ts'
import { type Shop, writeAssembly } from './an-assembly.ts'

const root = join(import.meta.dirname, '../..')
const script = join(root, 'scripts/start.ts')

export type Started = {
  readonly child: ChildProcess
  readonly pid: number
  stdout(): string
  stderr(): string
  /** The address, once it has been printed. */
  url(): Promise<string>
  /** The exit code, or the signal. */
  readonly ended: Promise<number | string>
}

export function start(args: readonly string[], env: Record<string, string> = {}): Started {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const texts = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      texts[stream] += text
    })
  }
  let hasEnded = false
  let how: unknown
  const ended = once(child, 'close').then(([code, signal]) => {
    hasEnded = true
    how = signal ?? code
    return (signal ?? code) as number | string
  })
  return {
    child,
    pid: child.pid ?? 0,
    ended,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    async url() {
      await until(() => texts.stdout.includes('Ctrl-C ends it') || hasEnded)
      const [address] = /http:\/\/localhost:\d+/.exec(texts.stdout) ?? []
      if (address) return address
      throw new Error(`it did not start (${how}): ${texts.stdout}${texts.stderr}`)
    },
  }
}

/** A CDK app that needs no CDK: it writes this assembly where it is told to. */
export function writeApp(directory: string, shop: Shop): string {
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'package.json'), '{}')
  const assembly = writeAssembly(join(directory, 'assembly'), shop)
  const app = join(directory, 'app.mjs')
  writeFileSync(
    app,
    `import { cpSync } from 'node:fs'
    cpSync(${JSON.stringify(assembly)}, process.env.CDK_OUTDIR, { recursive: true })`,
  )
  return app
}
