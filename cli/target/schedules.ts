import type {
  DeleteScheduleAnswer,
  PauseScheduleAnswer,
  RunScheduleAnswer,
  ScheduleAnswer,
  SchedulesAnswer,
} from '../../client/api-types.ts'
import { connect } from '../../client/connect.ts'
import { isOutcomeUnknown, isPushPopError } from '../../client/index.ts'
import type { RawJson } from '../../client/json.ts'
import type { ScheduleInput as Input } from '../../client/queue.ts'
import { pathOf } from '../../client/queue-calls.ts'
import { scheduleBodyOf, scheduleRequests } from '../../client/schedules.ts'
import { present } from '../../shared/wire.ts'
import type { Given } from '../arguments/option-table.ts'
import type { TargetOptions } from '../arguments/target-options.ts'
import type { Io } from '../command.ts'
import { interrupted } from '../failure.ts'
import { httpAuth } from './http-auth.ts'
import { awsOf, type Place, placeOf } from './open-target.ts'
import type { Answer } from './rates.ts'
import { whereNobodyAnswers } from './unreachable.ts'

export type ScheduleInput = Omit<Input<RawJson>, 'startsAt' | 'endsAt'> & {
  readonly item: RawJson
  /** In milliseconds. */
  readonly startsAt?: number
  readonly endsAt?: number
}

/** The schedules of a queue, in the API's own words, from the API or made on the table itself. */
export type SchedulesTarget = {
  list(): Promise<Answer<SchedulesAnswer>>
  get(name: string): Promise<Answer<ScheduleAnswer>>
  put(name: string, input: ScheduleInput, ifMatch?: string): Promise<Answer<ScheduleAnswer>>
  delete(name: string, ifMatch?: string): Promise<Answer<DeleteScheduleAnswer>>
  run(name: string): Promise<Answer<RunScheduleAnswer>>
  pause(name: string): Promise<Answer<PauseScheduleAnswer>>
  resume(name: string): Promise<Answer<PauseScheduleAnswer>>
}

type Asked = {
  readonly given: Given<TargetOptions>
  readonly io: Pick<Io, 'env' | 'interrupt'>
}

export async function withSchedules<R>(
  { given, io }: Asked,
  queue: string,
  work: (target: SchedulesTarget) => Promise<R>,
): Promise<R> {
  const place = placeOf(given, io.env)
  if (place.kind === 'http') return work(overHttp(place, given, io, queue))
  const { openStoreTarget } = await import('./store-target.ts')
  const store = openStoreTarget(place, awsOf(given))
  try {
    return await work(await onStore(store, queue))
  } finally {
    store.close()
  }
}

const quoted = (tag: string | undefined) =>
  present({ ifMatch: tag === undefined ? undefined : `"${tag.replaceAll('"', '')}"` })

function overHttp(
  place: Extract<Place, { kind: 'http' }>,
  given: Given<TargetOptions>,
  { env, interrupt }: Asked['io'],
  queue: string,
): SchedulesTarget {
  const { url } = place
  const { send } = connect({ url, auth: httpAuth(place, awsOf(given), env.PUSHPOP_TOKEN) })
  const requests = scheduleRequests(async (call) => {
    try {
      return await send({ ...call, signal: interrupt })
    } catch (error) {
      if (!isPushPopError(error, 'ABORTED')) throw whereNobodyAnswers(url, error)
      throw interrupted(
        isOutcomeUnknown(error) ? 'Stopped; it may have been done anyway.' : 'Stopped.',
      )
    }
  }, pathOf(queue))
  return {
    ...requests,
    put: (name, input, tag) => requests.put(name, scheduleBodyOf(input), quoted(tag)),
    delete: (name, tag) => requests.delete(name, quoted(tag)),
  }
}

async function onStore(
  store: ReturnType<typeof import('./store-target.ts').openStoreTarget>,
  queue: string,
): Promise<SchedulesTarget> {
  const { changedAnswer, scheduleAnswer, scheduleBody } = await import(
    '../../lambdas/http/bodies.ts'
  )
  const answer = <B>(text: string): Answer<B> => ({ text, body: JSON.parse(text) as B })
  const of = <B>(body: object): Answer<B> => answer(JSON.stringify(body))
  const bare = (tag: string | undefined) => present({ ifMatch: tag?.replaceAll('"', '') })
  return {
    list: async () => of({ schedules: (await store.schedules(queue)).map(scheduleBody) }),
    get: async (name) => answer(scheduleAnswer(await store.schedule(queue, name)).body),
    async put(name, { item, startsAt: startsAtMs, endsAt: endsAtMs, ...input }, tag) {
      const put = { ...input, ...present({ startsAtMs, endsAtMs }), text: item.text }
      return answer(scheduleAnswer(await store.putSchedule(queue, name, put, bare(tag))).body)
    },
    delete: async (name, tag) =>
      of({ success: true, deleted: await store.deleteSchedule(queue, name, bare(tag)) }),
    async run(name) {
      const { ids } = await store.runSchedule(queue, name)
      return of({ success: true, items_pushed: ids.length, ids })
    },
    pause: async (name) => answer(changedAnswer(await store.pauseSchedule(queue, name)).body),
    resume: async (name) => answer(changedAnswer(await store.resumeSchedule(queue, name)).body),
  }
}
