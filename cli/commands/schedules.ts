// `schedules`: a queue's schedules, over HTTP or in the table itself, in the API's own words either way.

import type {
  DeleteScheduleAnswer,
  PauseScheduleAnswer,
  RunScheduleAnswer,
  ScheduleAnswer,
  SchedulesAnswer,
} from '../../client/api-types.ts'
import { type RawJson, rawJson } from '../../client/json.ts'
import type { ScheduleInput as Input } from '../../client/queue.ts'
import { queueAt } from '../../client/queue-calls.ts'
import { scheduleBodyOf, scheduleRequests } from '../../client/schedules.ts'
import { EVERY_SECONDS_MAX, EVERY_SECONDS_MIN, PRIORITY_MAX } from '../../engine/core/limits.ts'
import { present } from '../../shared/wire.ts'
import { msIn } from '../arguments.ts'
import {
  type Context,
  choice,
  command,
  duration,
  type Given,
  integer,
  queueWord,
  type TargetOptions,
  text,
} from '../command.ts'
import { type ExitCode, exitCodes, wrongUsage } from '../failure.ts'
import { connectTo } from '../target/http.ts'
import type { Asked } from '../target/open.ts'
import { awsOf, type HttpPlace, placeOf } from '../target/place.ts'
import type { Answer } from '../target/target.ts'
import { printTable } from '../terminal.ts'
import { timeText } from '../text.ts'

const options = {
  item: text('JSON', 'with put: the item to push'),
  cron: text('"M H D M W"', 'with put: minute, hour, day of the month, month, day of the week'),
  'time-zone': text('ZONE', 'of --cron, such as Europe/Berlin; UTC is the default'),
  every: duration(
    EVERY_SECONDS_MIN,
    EVERY_SECONDS_MAX,
    'with put: the time between: 90, 15m, 2h or 7d',
  ),
  priority: integer('N', 0, PRIORITY_MAX, 'with put: 0 is the default'),
  'starts-at': text('TIME', 'with put: not due before, such as 2027-01-01T09:00Z'),
  'ends-at': text('TIME', 'with put: not due after'),
  missed: choice(
    ['skip', 'one', 'all'],
    'with put: what to do about missed occurrences; one is the default',
  ),
  'if-match': text('ETAG', 'with put and delete: only if get shows this etag'),
} as const

type Run = Context<typeof options>

const verbs = ['list', 'get', 'put', 'delete', 'run', 'pause', 'resume'] as const
type Verb = (typeof verbs)[number]
const isVerb = (word: string): word is Verb => (verbs as readonly string[]).includes(word)

export const schedules = command({
  name: 'schedules',
  summary: "Shows and changes a queue's schedules: items that it gets by the clock",
  words: [
    queueWord,
    { name: verbs.join('|'), kind: 'text', optional: true },
    { name: 'NAME', kind: 'text', optional: true },
  ],
  options,
  notes: [
    'list is the default; all others name a schedule. put makes it, or replaces it whole, with --item\n' +
      'and --cron or --every. run pushes its item now. Nothing is pushed between pause and resume.',
  ],
  examples: [
    'pushpop schedules reports',
    `pushpop schedules reports put weekly --cron "0 9 * * 1" --time-zone Europe/Berlin --item '{"report": 1}'`,
    'pushpop schedules reports run weekly',
    'pushpop schedules reports delete weekly',
  ],
  async run(context): Promise<ExitCode> {
    const { given, io, words } = context
    const [queue = '', verb = 'list', name] = words
    if (!isVerb(verb)) {
      const known = verbs.join(', ')
      throw wrongUsage(`Cannot use schedules because ${JSON.stringify(verb)} is none of ${known}`)
    }
    if ((verb === 'list') !== (name === undefined)) {
      throw wrongUsage(
        verb === 'list'
          ? 'Cannot list schedules because list takes no name; see: pushpop help schedules'
          : `Cannot ${verb} a schedule because its name is missing; see: pushpop help schedules`,
      )
    }
    const input = verb === 'put' ? inputIn(given) : undefined
    return withSchedules({ given, io }, queue, (target) =>
      name === undefined ? list(context, target) : act(context, target, verb, name, input),
    )
  },
})

async function list(context: Run, target: SchedulesTarget): Promise<ExitCode> {
  const { isJson, print, tell } = context
  const { body, text } = await target.list()
  if (isJson) await print(text)
  else if (body.schedules.length === 0) tell('There are no schedules.')
  else {
    const columns = ['NAME', 'DUE', 'NEXT', 'LAST', 'STATE'].map((title) => ({ title }))
    await printTable(context, columns, body.schedules.map(rowOf))
  }
  return exitCodes.done
}

const rowOf = (it: SchedulesAnswer['schedules'][number]): string[] => [
  it.name,
  it.cron === undefined ? `every ${it.every_seconds} s` : `${it.cron} ${it.time_zone}`,
  timeOf(it.next_at),
  timeOf(it.last_at),
  it.paused
    ? 'paused'
    : (it.waiting?.replace('_', ' ') ?? (it.next_at === undefined ? 'over' : '')),
]

const timeOf = (seconds: number | undefined): string =>
  seconds === undefined ? '' : timeText(seconds * 1000)

async function act(
  { given, isJson, print, tell }: Run,
  target: SchedulesTarget,
  verb: Exclude<Verb, 'list'> | Verb,
  name: string,
  input: ScheduleInput | undefined,
): Promise<ExitCode> {
  const ifMatch = given['if-match']
  const { body, text } = await {
    list: () => target.list(),
    get: () => target.get(name),
    put: () => target.put(name, input as ScheduleInput, ifMatch),
    delete: () => target.delete(name, ifMatch),
    run: () => target.run(name),
    pause: () => target.pause(name),
    resume: () => target.resume(name),
  }[verb]()
  if (isJson || verb === 'get') await print(text)
  else tell(`${done[verb]} ${name}${'next_at' in body ? `, next at ${timeOf(body.next_at)}` : ''}.`)
  return exitCodes.done
}

const done: Readonly<Record<Verb, string>> = {
  list: 'Listed',
  get: 'Read',
  put: 'Put',
  delete: 'Deleted',
  run: 'Ran',
  pause: 'Paused',
  resume: 'Resumed',
}

function inputIn(given: Run['given']): ScheduleInput {
  if (given.item === undefined) throw wrongUsage('Cannot put a schedule because --item is missing')
  return present({
    item: rawJson(given.item),
    cron: given.cron,
    timeZone: given['time-zone'],
    everySeconds: given.every,
    priority: given.priority,
    startsAt: msIn('put a schedule', 'starts-at', given['starts-at']),
    endsAt: msIn('put a schedule', 'ends-at', given['ends-at']),
    missed: given.missed,
  }) as ScheduleInput
}

export type ScheduleInput = Omit<Input<RawJson>, 'startsAt' | 'endsAt'> & {
  readonly item: RawJson
  /** In milliseconds. */
  readonly startsAt?: number
  readonly endsAt?: number
}

/** The schedules of a queue, in the API's own words, from the API or made on the table itself. */
type SchedulesTarget = {
  list(): Promise<Answer<SchedulesAnswer>>
  get(name: string): Promise<Answer<ScheduleAnswer>>
  put(name: string, input: ScheduleInput, ifMatch?: string): Promise<Answer<ScheduleAnswer>>
  delete(name: string, ifMatch?: string): Promise<Answer<DeleteScheduleAnswer>>
  run(name: string): Promise<Answer<RunScheduleAnswer>>
  pause(name: string): Promise<Answer<PauseScheduleAnswer>>
  resume(name: string): Promise<Answer<PauseScheduleAnswer>>
}

async function withSchedules<R>(
  { given, io }: Asked,
  queue: string,
  work: (target: SchedulesTarget) => Promise<R>,
): Promise<R> {
  const place = placeOf(given, io.env)
  if (place.kind === 'http') return work(overHttp(place, given, io, queue))
  const { openStoreTarget } = await import('../target/store-target.ts')
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
  place: HttpPlace,
  given: Given<TargetOptions>,
  { env, interrupt }: Asked['io'],
  queue: string,
): SchedulesTarget {
  const { send } = connectTo(place, awsOf(given), env.PUSHPOP_TOKEN, interrupt)
  const requests = scheduleRequests(send, queueAt(queue))
  return {
    ...requests,
    put: (name, input, tag) => requests.put(name, scheduleBodyOf(input), quoted(tag)),
    delete: (name, tag) => requests.delete(name, quoted(tag)),
  }
}

async function onStore(
  store: ReturnType<typeof import('../target/store-target.ts').openStoreTarget>,
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
