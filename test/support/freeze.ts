import { type ChildProcess, execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

/** Some seconds: a signal takes effect when the process next runs. */
const LOOKS_MAX = 100_000

/** Stops a process as Lambda does between two calls; resolves when it has. `SIGCONT` thaws it. */
export async function freeze(child: ChildProcess): Promise<void> {
  child.kill('SIGSTOP')
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    if (stateOf(child).startsWith('T')) return
    await new Promise((resolve) => setImmediate(resolve))
  }
  throw new Error(`Cannot freeze process ${child.pid} because it goes on`)
}

function stateOf({ pid }: ChildProcess): string {
  const file = `/proc/${pid}/stat`
  // The state comes after the name, which is in parentheses.
  if (existsSync(file)) return readFileSync(file, 'utf8').split(') ')[1] ?? ''
  return execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
}
