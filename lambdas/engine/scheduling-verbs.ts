import type { Missed, Schedule, ScheduleInput } from './core/schedule.ts'
import type { Pushed } from './verbs.ts'

export type { Missed, Schedule, ScheduleInput }

type IfMatch = { readonly ifMatch?: string | undefined }

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
}
