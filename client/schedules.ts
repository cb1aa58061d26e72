// Schedules, by which PushPop pushes to a queue by the clock.

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
import { isSegment, matchOf, shown } from './queue-calls.ts'
import type { Answered, Send } from './transport.ts'
import { viewOf } from './views.ts'

/** The answers have the API's own names. The command line prints these. */
export function scheduleRequests(send: Send, queuePath: string) {
  const all = `${queuePath}/schedules`
  const pathOf = (name: string): string => {
    if (isSegment(name)) return `${all}/${encodeURIComponent(name)}`
    throw new PushPopError('INVALID_PARAMETER', `A schedule cannot be called ${shown(name)}`, {
      field: 'name',
    })
  }
  const read = <B>(verb: 'schedules' | 'schedule', path: string, options: CallOptions) =>
    send({ verb, method: 'GET', path, signal: options.signal }) as Promise<Answered<B>>
  const act =
    <B>(action: 'run' | 'pause' | 'resume') =>
    (name: string, options: CallOptions = {}) => {
      const path = `${pathOf(name)}/${action}`
      const verb = `${action}Schedule` as const
      return send({ verb, method: 'POST', path, signal: options.signal }) as Promise<Answered<B>>
    }
  return {
    list: (options: CallOptions = {}) => read<SchedulesAnswer>('schedules', all, options),
    get: (name: string, options: CallOptions = {}) =>
      read<ScheduleAnswer>('schedule', pathOf(name), options),
    put: (name: string, body: string, options: MatchOptions = {}) =>
      send({
        verb: 'putSchedule',
        method: 'PUT',
        path: pathOf(name),
        body,
        ...matchOf(options),
      }) as Promise<Answered<ScheduleAnswer>>,
    delete: (name: string, options: MatchOptions = {}) =>
      send({
        verb: 'deleteSchedule',
        method: 'DELETE',
        path: pathOf(name),
        ...matchOf(options),
      }) as Promise<Answered<DeleteScheduleAnswer>>,
    run: act<RunScheduleAnswer>('run'),
    pause: act<PauseScheduleAnswer>('pause'),
    resume: act<PauseScheduleAnswer>('resume'),
  }
}

export function schedulesOf<T>(send: Send, queuePath: string): Schedules<T> {
  const requests = scheduleRequests(send, queuePath)
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
