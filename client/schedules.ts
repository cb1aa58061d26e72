// Schedules, by which PushPop pushes to a queue by the clock.

import type { Verb } from '../shared/verbs.ts'
import type {
  DeleteScheduleAnswer,
  PauseScheduleAnswer,
  RunScheduleAnswer,
  ScheduleAnswer,
  SchedulesAnswer,
} from './api-types.ts'
import { PushPopError } from './errors.ts'
import { secondsOf, textOf } from './json.ts'
import type { CallOptions, MatchOptions, Schedule, ScheduleInput, Schedules } from './queue.ts'
import { isSegment, shown } from './queue-calls.ts'
import { type Answered, type Call, matchOf, type Send } from './transport.ts'
import { viewOf } from './views.ts'

/** The answers have the API's own names. The command line prints these. */
export function scheduleRequests(send: Send, queue: { readonly id: string }) {
  const ask = <B>(verb: Verb, name: string, request: Omit<Call, 'verb' | 'at'>) =>
    send({ verb, at: { ...queue, name: checked(name) }, ...request }) as Promise<Answered<B>>
  const plain =
    <B>(verb: Verb) =>
    async (name: string, { signal }: CallOptions = {}) =>
      ask<B>(verb, name, { signal })
  return {
    list: ({ signal }: CallOptions = {}) =>
      send({ verb: 'schedules', at: queue, signal }) as Promise<Answered<SchedulesAnswer>>,
    get: plain<ScheduleAnswer>('schedule'),
    put: async (name: string, body: string, options: MatchOptions = {}) =>
      ask<ScheduleAnswer>('putSchedule', name, { body, ...matchOf(options) }),
    delete: async (name: string, options: MatchOptions = {}) =>
      ask<DeleteScheduleAnswer>('deleteSchedule', name, matchOf(options)),
    run: plain<RunScheduleAnswer>('runSchedule'),
    pause: plain<PauseScheduleAnswer>('pauseSchedule'),
    resume: plain<PauseScheduleAnswer>('resumeSchedule'),
  }
}

function checked(name: string): string {
  if (isSegment(name)) return name
  throw new PushPopError('INVALID_PARAMETER', `A schedule cannot be called ${shown(name)}`, {
    field: 'name',
  })
}

export function schedulesOf<T>(send: Send, queue: { readonly id: string }): Schedules<T> {
  const requests = scheduleRequests(send, queue)
  return {
    list: async (options) => (await requests.list(options)).body.schedules.map(viewOf),
    get: async (name, options) => whole(await requests.get(name, options)),
    put: async (name, schedule, options) =>
      whole(await requests.put(name, scheduleBodyOf(schedule), options)),
    async delete(name, options) {
      const { deleted } = (await requests.delete(name, options)).body
      return { deleted }
    },
    run: async (name, options) => ({
      id: (await requests.run(name, options)).body.ids[0] as string,
    }),
    pause: async (name, options) => viewOf((await requests.pause(name, options)).body),
    resume: async (name, options) => viewOf((await requests.resume(name, options)).body),
  }
}

/** We must not rename fields within the item. */
function whole<T>({ body }: Answered<ScheduleAnswer>): Schedule & { readonly item: T } {
  const { item, ...schedule } = body
  return { ...viewOf(schedule), item: item as T }
}

export function scheduleBodyOf<T>(schedule: ScheduleInput<T>): string {
  const { item, priority, cron, timeZone, everySeconds, startsAt, endsAt, missed } = schedule
  const fields = {
    priority,
    cron,
    time_zone: timeZone,
    every_seconds: everySeconds,
    starts_at: secondsOf('startsAt', startsAt),
    ends_at: secondsOf('endsAt', endsAt),
    missed,
  }
  const rest = JSON.stringify(fields).slice(1)
  return `{"item":${textOf(item)}${rest === '}' ? '' : ','}${rest}`
}
