import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Killer } from './mutant.ts'

/** What a killer said of a copy of the code. */
export type Verdict =
  | { readonly kind: 'passed'; readonly seconds: number }
  | { readonly kind: 'killed'; readonly by: string; readonly seconds: number }
  /** It ended without a word on what failed: a patch that does not run proves nothing. */
  | { readonly kind: 'broken'; readonly why: string; readonly seconds: number }
  /** No verdict in time: what hangs is a fault as well, but a slow machine is none. */
  | { readonly kind: 'timed out'; readonly seconds: number }

export async function run(killer: Killer, place: string, limitMs: number): Promise<Verdict> {
  const startedMs = performance.now()
  const { code, output } = await node(commandFor(killer, place), place, limitMs)
  const seconds = (performance.now() - startedMs) / 1_000
  if (code === 'timed out') return { kind: 'timed out', seconds }
  if (code === 0) return { kind: 'passed', seconds }
  const by = reasonIn(killer, output)
  if (by !== undefined) return { kind: 'killed', by, seconds }
  return { kind: 'broken', why: lastOf(output.split('\n')), seconds }
}

function commandFor(killer: Killer, place: string): string[] {
  switch (killer.kind) {
    case 'simulation': {
      const { seeds, focus } = killer
      const options = ['--seeds', String(seeds)]
      if (focus !== undefined) options.push('--focus', focus)
      return [join(place, 'test/proofs/mutants/seeds.ts'), ...options]
    }
    case 'test': {
      const only = killer.only === undefined ? [] : ['-t', killer.only]
      const vitest = join(place, 'node_modules/vitest/vitest.mjs')
      return [vitest, 'run', killer.file, ...only, '--reporter=tap-flat', '--bail=1']
    }
    default:
      return killer satisfies never
  }
}

function reasonIn(killer: Killer, output: string): string | undefined {
  const said = (form: RegExp): string | undefined => {
    for (const line of output.split('\n')) {
      const match = form.exec(line)
      if (match !== null) return match[1]?.trim()
    }
    return undefined
  }
  switch (killer.kind) {
    case 'simulation':
      return said(/^KILLED (.*)$/)
    case 'test': {
      const failed = said(/^not ok \d+ - (.*?)(?: # time=.*)?$/)
      // A file that cannot even be loaded is told of by its name alone; and a patch that names what
      // is not there proves nothing.
      return failed === killer.file || output.includes('ReferenceError') ? undefined : failed
    }
    default:
      return killer satisfies never
  }
}

const lastOf = (lines: readonly string[]): string =>
  lines.findLast((line) => line.trim() !== '') ?? 'nothing was said'

/** The last of what a process says is enough to tell why it failed. */
const OUTPUT_MAX = 200_000

function node(
  args: readonly string[],
  cwd: string,
  limitMs: number,
): Promise<{ code: number | 'timed out'; output: string }> {
  return new Promise((resolve, reject) => {
    // A group of its own, so that what a test starts ends with it.
    const child = spawn(process.execPath, args, {
      cwd,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' },
    })
    let output = ''
    let timedOut = false
    const hear = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-OUTPUT_MAX)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    const end = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // The group has ended by itself.
      }
    }
    const timer = setTimeout(() => {
      timedOut = true
      end()
    }, limitMs)
    process.once('exit', end)
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(timer)
      process.off('exit', end)
      resolve({ code: timedOut ? 'timed out' : (code ?? 1), output })
    })
  })
}
