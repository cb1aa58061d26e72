import { createHash } from 'node:crypto'
import { inputOf, type ScheduleInCode } from '../../engine/core/schedule.ts'
import type { DeployedResult, Queues } from '../../engine/queues.ts'
import type { Environment } from '../../runtime/environment.ts'
import { describeError, type Fields, type Log } from '../../runtime/log.ts'
import { variables } from '../../runtime/variables.ts'

/** Schedules that a deployment brings. Even if it brings none, there may be some of an earlier one to delete. */
export type SchedulesInCode = { readonly text: string; readonly hash: string }

export function schedulesIn(environment: Environment): SchedulesInCode {
  const text = environment[variables.schedules] ?? '[]'
  return { text, hash: createHash('sha256').update(text).digest('base64url').slice(0, 16) }
}

export type Deployed = {
  readonly failed: number
  /** `new`: it is applied now. `left`: the next run goes on. */
  readonly state: 'as-it-was' | 'new' | 'left'
}

/** Puts and deletes what this deployment changes, and says so in the log. */
export async function deploySchedules(
  queues: Pick<Queues, 'deploySchedules'>,
  { text, hash }: SchedulesInCode,
  log: Log,
  deadlineMs: number,
): Promise<Deployed> {
  try {
    const list = read(text)
    const request = { deadlineMs }
    const { isNew, more, results } = await queues.deploySchedules(list.map(inputOf), hash, request)
    if (isNew) log.write(levelOf(results), 'schedules deployed', fieldsOf(results))
    const failed = results.filter(({ result }) => result === 'failed').length
    return { failed, state: more ? 'left' : isNew ? 'new' : 'as-it-was' }
  } catch (error) {
    log.write('error', 'schedules not deployed', { error: describeError(error) })
    return { failed: 1, state: 'left' }
  }
}

function read(text: string): readonly ScheduleInCode[] {
  try {
    return JSON.parse(text)
  } catch (cause) {
    // A name that only the deployment knew may have had a quote in it.
    throw new Error(`Cannot read ${variables.schedules} as JSON`, { cause })
  }
}

/** If this replaces or keeps a schedule that somebody put by hand, the log says so. */
function levelOf(results: readonly DeployedResult[]): 'error' | 'warn' | 'info' {
  const has = (...some: readonly DeployedResult['result'][]): boolean =>
    results.some(({ result }) => some.includes(result))
  if (has('failed')) return 'error'
  return has('replaced', 'kept') ? 'warn' : 'info'
}

/** The schedules, by what happened to them. Without their items, whose contents do not belong in a log. */
function fieldsOf(results: readonly DeployedResult[]): Fields {
  const fields: Record<string, unknown[]> = {}
  for (const it of results) {
    const { queue, name, result } = it
    const place = { queue, name }
    const told =
      it.result === 'failed'
        ? { ...place, error: describeError(it.error) }
        : it.result === 'replaced'
          ? { ...place, timing: it.before.timing }
          : place
    fields[result] = [...(fields[result] ?? []), told]
  }
  return fields
}
