import type { HttpErrorCode } from '../../../../lambdas/http/answer.ts'
import type { CallOptions } from '../call.ts'

/** A request that is wrong in one way, and what it must be told. */
export type HostileCase = {
  readonly name: string
  readonly method: string
  /** Of a queue that has items and a live lock. */
  path(queue: string): string
  readonly options?: CallOptions
  readonly code: HttpErrorCode
  /** What its field or its message must name. */
  readonly names?: string | undefined
}

export type CallName = keyof typeof calls

/** Every call with what makes it a good one, so that a case is wrong in its own way alone. */
export const calls = {
  push: { method: 'POST', suffix: '/push', body: '{"item":1}' },
  pop: { method: 'POST', suffix: '/pop' },
  acknowledge: { method: 'POST', suffix: '/acknowledge', body: '{"lock_id":"AAAAAAAAAAA"}' },
  extendLock: {
    method: 'POST',
    suffix: '/extend-lock',
    body: '{"lock_id":"AAAAAAAAAAA","ttl_seconds":5}',
  },
  release: { method: 'POST', suffix: '/release', body: '{"lock_id":"AAAAAAAAAAA"}' },
  deadLetter: { method: 'POST', suffix: '/dead-letter', body: '{"lock_id":"AAAAAAAAAAA"}' },
  inspect: { method: 'GET', suffix: '' },
  browse: { method: 'GET', suffix: '/items' },
  scheduled: { method: 'GET', suffix: '/scheduled' },
  configuration: { method: 'GET', suffix: '/config' },
  configure: { method: 'PUT', suffix: '/config', body: '{"capacity":100}' },
  unconfigure: { method: 'DELETE', suffix: '/config' },
  cancel: { method: 'POST', suffix: '/cancel', body: '{"ids":["AAAAAAAA-0-0"]}' },
  move: { method: 'POST', suffix: '/move', body: '{"ids":["AAAAAAAA-0-0"],"priority":1}' },
  schedules: { method: 'GET', suffix: '/schedules' },
  schedule: { method: 'GET', suffix: '/schedules/s' },
  putSchedule: {
    method: 'PUT',
    suffix: '/schedules/s',
    body: '{"item":1,"cron":"0 9 * * 1"}',
  },
  deleteSchedule: { method: 'DELETE', suffix: '/schedules/s' },
  runSchedule: { method: 'POST', suffix: '/schedules/s/run' },
  pauseSchedule: { method: 'POST', suffix: '/schedules/s/pause' },
  resumeSchedule: { method: 'POST', suffix: '/schedules/s/resume' },
  purge: { method: 'POST', suffix: '/purge', body: '{"priority":1}' },
  redrive: { method: 'POST', suffix: '/redrive' },
} as const satisfies Readonly<Record<string, GoodCall>>

type GoodCall = { readonly method: string; readonly suffix: string; readonly body?: string }

export const callNames = Object.keys(calls) as CallName[]

/** A call gone wrong: the options replace those of the good one. */
export function wrong(
  name: CallName,
  what: string,
  code: HttpErrorCode,
  { names, ...options }: CallOptions & Pick<HostileCase, 'names'> = {},
): HostileCase {
  const { method, suffix, body }: GoodCall = calls[name]
  return {
    name: `${name}: ${what}`,
    method,
    path: (queue) => `/queue/${queue}${suffix}`,
    options: { ...(body !== undefined && { body }), ...options },
    code,
    names,
  }
}

/** A value, short enough for a name. */
export const short = (text: string): string =>
  text.length <= 60 ? JSON.stringify(text) : `${JSON.stringify(text.slice(0, 40))}…${text.length}`

/** Between spaces and ends of lines. */
export const words = (text: string): string[] => text.trim().split(/\s+/)

/** With spaces in them: between bars and ends of lines. */
export const phrases = (text: string): string[] =>
  text.replace(/^\n {2}|\n$/g, '').split(/ ¦ |\n {2}/)
