import type { Environment } from '../../runtime/environment.ts'
import { invokeFunction } from '../../runtime/invoke-function.ts'
import { describeError, type Log } from '../../runtime/log.ts'
import { variables } from '../../runtime/variables.ts'

/**
 * Something is due at `untilMs`: the run of Wake that is awake must stay until then. `takesOver`: we know that this run
 * has ended.
 */
export type WakeEvent = { readonly untilMs?: number; readonly takesOver?: boolean }

/** Calls Wake. If that fails it says so in the log: the minute's sweep comes all the same. */
export type Waker = (event: WakeEvent, log: Log) => Promise<void>

/** Undefined if the stack has no Wake. */
export function wakerIn(environment: Environment): Waker | undefined {
  const name = environment[variables.wake]
  if (!name) return undefined
  const invoke = invokeFunction(name, environment)
  return async (event, log) => {
    try {
      await invoke(event)
    } catch (error) {
      log.write('warn', 'Wake not called', { error: describeError(error) })
    }
  }
}
