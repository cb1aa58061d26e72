import type { Environment } from '../../runtime/environment.ts'
import { invokeFunction } from '../../runtime/invoke-function.ts'
import { describeError, type Log } from '../../runtime/log.ts'
import { variables } from '../../runtime/variables.ts'

/** Something comes due at `untilMs`: whoever is awake then must stay until it has. */
export type WakeEvent = { readonly untilMs?: number }

/** Calls Wake, and says in the log if that fails: the minute's sweep comes all the same. */
export type Waker = (event: WakeEvent, log: Log) => Promise<void>

/** None where the stack has no Wake. */
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
