import type { SchedulesAnswer } from '../../client/api-types.ts'
import { rawJson } from '../../client/json.ts'
import { EVERY_SECONDS_MAX, EVERY_SECONDS_MIN, PRIORITY_MAX } from '../../engine/core/limits.ts'
import { present } from '../../shared/wire.ts'
import { choice, duration, integer, text } from '../arguments/option-table.ts'
import { queueWord } from '../arguments/read-words.ts'
import { msIn, timeText } from '../arguments/time.ts'
import { type Context, command } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { wrongUsage } from '../failure.ts'
import { type ScheduleInput, type SchedulesTarget, withSchedules } from '../target/schedules.ts'
import { printTable } from '../terminal/table.ts'

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
