import type { Missed, Schedule, ScheduleInput } from './core/schedule.ts'
import type { Pushed } from './verbs.ts'

export type { Missed, Schedule, ScheduleInput }

type IfMatch = { readonly ifMatch?: string | undefined }

export type ScheduleName = Pick<Schedule, 'queue' | 'name'>
/** A schedule that a deployment brings. */
export type DeployedSchedule = ScheduleName & ScheduleInput

export type DeployedSchedules = {
  /** It had not been applied as a whole before. */
  readonly isNew: boolean
  /** Something is left, because it failed or the time was up: ask again. */
  readonly more: boolean
  readonly results: readonly DeployedResult[]
}

export type DeployedResult = ScheduleName &
  (
    | { readonly result: 'as_it_was' | 'put' | 'deleted' | 'gone' }
    /** A caller had put it otherwise than the deployment has it. */
    | { readonly result: 'replaced'; readonly before: Schedule }
    /** The deployment does not have it any more, and a caller has put it since: it stays. */
    | { readonly result: 'kept' }
    | { readonly result: 'failed'; readonly error: unknown }
  )

/** The verbs about schedules, which push to a queue by the clock. */
export interface SchedulingVerbs {
  /** With its item. */
  schedule(queue: string, name: string): Promise<Schedule & { readonly text: string }>
  /** By name, without their items. */
  schedules(queue: string): Promise<readonly Schedule[]>
  /** Makes it, or replaces it whole. Times that stay the same go on. */
  putSchedule(
    queue: string,
    name: string,
    input: ScheduleInput,
    /** The tag that it must have. */
    request?: IfMatch,
  ): Promise<Schedule & { readonly text: string }>
  /** Whether there was one. What it pushed stays. */
  deleteSchedule(queue: string, name: string, request?: IfMatch): Promise<boolean>
  /** Pushes its item now, once, paused or not; its times stay as they are. */
  runSchedule(queue: string, name: string): Promise<Pushed>
  pauseSchedule(queue: string, name: string): Promise<Schedule>
  resumeSchedule(queue: string, name: string): Promise<Schedule>
  /**
   * Puts those that a deployment brings, when the hash is another, and deletes those that earlier ones brought and
   * that no caller has changed.
   */
  deploySchedules(
    schedules: readonly DeployedSchedule[],
    hash: string,
    /** Nothing is sent after this time. */
    request?: { readonly deadlineMs?: number | undefined },
  ): Promise<DeployedSchedules>
}
