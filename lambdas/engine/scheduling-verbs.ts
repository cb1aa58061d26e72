import type { Missed, Schedule, ScheduleInput } from './core/schedule.ts'
import type { Pushed } from './verbs.ts'

export type { Missed, Schedule, ScheduleInput }

type IfMatch = { readonly ifMatch?: string | undefined }

export type ScheduleName = Pick<Schedule, 'queue' | 'name'>
/** A schedule that a deployment brings. */
export type DeployedSchedule = ScheduleName & ScheduleInput

export type DeployedSchedules = {
  /** No earlier call had applied the whole deployment. */
  readonly isNew: boolean
  /** Something is left, because it failed or the time was up: call again. */
  readonly more: boolean
  readonly results: readonly DeployedResult[]
}

export type DeployedResult = ScheduleName &
  (
    | { readonly result: 'as_it_was' | 'put' | 'deleted' | 'gone' }
    /** A caller had put it differently from the deployment. */
    | { readonly result: 'replaced'; readonly before: Schedule }
    /** The deployment no longer has it, but a caller has put it since, so it stays. */
    | { readonly result: 'kept' }
    | { readonly result: 'failed'; readonly error: unknown }
  )

/** The verbs for schedules, which push to a queue by the clock. */
export interface SchedulingVerbs {
  /** With its item. */
  schedule(queue: string, name: string): Promise<Schedule & { readonly text: string }>
  /** By name, without their items. */
  schedules(queue: string): Promise<readonly Schedule[]>
  /** Makes it, or replaces it as a whole. If its times stay the same, they go on. */
  putSchedule(
    queue: string,
    name: string,
    input: ScheduleInput,
    /** The tag that the schedule must have. */
    request?: IfMatch,
  ): Promise<Schedule & { readonly text: string }>
  /** Returns whether there was one. The items that it pushed stay. */
  deleteSchedule(queue: string, name: string, request?: IfMatch): Promise<boolean>
  /** Pushes its item now, once, paused or not; its times stay as they are. */
  runSchedule(queue: string, name: string): Promise<Pushed>
  pauseSchedule(queue: string, name: string): Promise<Schedule>
  resumeSchedule(queue: string, name: string): Promise<Schedule>
  /**
   * If the hash is new, puts the schedules that a deployment brings, and deletes those that earlier deployments brought
   * and that no caller has changed.
   */
  deploySchedules(
    schedules: readonly DeployedSchedule[],
    hash: string,
    /** We send nothing after this time. */
    request?: { readonly deadlineMs?: number | undefined },
  ): Promise<DeployedSchedules>
}
