import type { ChildProcess } from 'node:child_process'
import { stateOf } from './processes.ts'

/** Some seconds: a signal takes effect when the process next runs. */
const LOOKS_MAX = 100_000

/** Stops a process as Lambda does between two calls; resolves when it has. `SIGCONT` thaws it. */
export async function freeze(child: ChildProcess): Promise<void> {
  child.kill('SIGSTOP')
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    if (stateOf(child.pid ?? 0).startsWith('T')) return
    await new Promise((resolve) => setImmediate(resolve))
  }
  throw new Error(`Cannot freeze process ${child.pid} because it goes on`)
}
