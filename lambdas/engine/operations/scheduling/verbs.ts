import type { SchedulingVerbs } from '../../verbs.ts'
import type { Engine } from '../attempts/engine.ts'
import { deleteSchedule, pauseSchedule, putSchedule, resumeSchedule } from './change-schedule.ts'
import { schedule, schedules } from './read-schedule.ts'
import { runSchedule } from './run-schedule.ts'

export const schedulingVerbs = (engine: Engine): Omit<SchedulingVerbs, 'deploySchedules'> => ({
  schedule: (queue, name) => schedule(engine, queue, name),
  schedules: (queue) => schedules(engine, queue),
  putSchedule: (queue, name, input, request) => putSchedule(engine, queue, name, input, request),
  deleteSchedule: (queue, name, request) => deleteSchedule(engine, queue, name, request),
  runSchedule: (queue, name) => runSchedule(engine, queue, name),
  pauseSchedule: (queue, name) => pauseSchedule(engine, queue, name),
  resumeSchedule: (queue, name) => resumeSchedule(engine, queue, name),
})
