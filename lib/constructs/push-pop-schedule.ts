// Schedules in code. What the service would refuse is refused while the stack is synthesised, by the engine's own
// checks; the sweeper gets what is left in its environment.

import { types } from 'node:util'
import {
  type IResolvable,
  Lazy,
  ResolutionTypeHint,
  Stack,
  Token,
  Tokenization,
} from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import { Cron } from 'croner'
import {
  checkScheduleInput,
  checkScheduleName,
  cronTimes,
  definitionOf,
  inputOf,
  intervalTimes,
  type Missed,
  neverDue,
  type ScheduleInCode,
  withinBounds,
} from '../../engine/core/schedule.ts'
import { variables } from '../../lambdas/runtime/names.ts'
import { checkQueueId, QueueError } from '../../shared/errors.ts'
import { present } from '../../shared/wire.ts'
import { bytesInEnvironment } from './functions.ts'
import { anything, aService, type Checks, checkProperties, must } from './property-checks.ts'
import type { PushPop } from './push-pop.ts'

/** The same settings as for `PUT /queue/{id}/schedules/{name}`. */
export type PushPopScheduleProps = {
  readonly service: PushPop
  /** The queue that gets the item. */
  readonly queue: string
  /** The schedule's name in its queue. Another name makes another schedule. Default: the construct's id. */
  readonly name?: string
  /** Minute, hour, day of the month, month, day of the week: `0 9 * * 1`. Either this or `everySeconds`. */
  readonly cron?: string
  /** For `cron`: an IANA name, such as `Europe/Berlin`. Default: UTC. */
  readonly timeZone?: string
  /** The interval: 10 or more, counted from `startsAt`, or from the deployment that first brings it. */
  readonly everySeconds?: number
  /** What is pushed: any JSON value, with names and ARNs of the app's resources if you like. */
  readonly item: unknown
  /** Default: 0, which is served first. */
  readonly priority?: number
  /** Not due before this time; whole seconds. */
  readonly startsAt?: Date
  /** Not due after this time; whole seconds. */
  readonly endsAt?: Date
  /**
   * What happens to missed occurrences: push none, one for all, or each of the last 1,000. Default: `one`.
   */
  readonly missed?: Missed
}

/**
 * A schedule in code: a queue gets an item each Monday, or every ten minutes. The sweeper puts it within a minute of
 * a deployment that has changed it, and deletes it after one that no longer has it.
 */
export class PushPopSchedule extends Construct {
  readonly queue: string
  /** The schedule's name in its queue. */
  readonly scheduleName: string

  constructor(scope: Construct, id: string, props: PushPopScheduleProps) {
    super(scope, id)
    checkScheduleProps(id, props)
    const { service, startsAt, endsAt, name = id, item, ...rest } = props
    const times = present({ startsAtMs: startsAt?.getTime(), endsAtMs: endsAt?.getTime() })
    const schedule = checkSchedule(id, { ...rest, name, ...times, item })
    this.queue = schedule.queue
    this.scheduleName = name
    SchedulesInCode.of(service).add(this, schedule)
  }
}

const ID = 'SchedulesInCode'

/** All schedules of one service. If there are any, its sweeper gets them in its environment. */
class SchedulesInCode extends Construct {
  readonly #byPlace = new Map<
    string,
    { readonly by: PushPopSchedule; readonly it: ScheduleInCode }
  >()
  readonly #service: PushPop

  static of(service: PushPop): SchedulesInCode {
    const there = service.node.tryFindChild(ID) as SchedulesInCode | undefined
    return there ?? new SchedulesInCode(service)
  }

  private constructor(service: PushPop) {
    super(service, ID)
    this.#service = service
    // A resource in an item may get its name only at deployment.
    const text = () => Stack.of(this).toJsonString(this.#inOrder())
    const { ReturnExpiredLocks: sweeper } = service.functions
    sweeper.addEnvironment(variables.schedules, Lazy.string({ produce: text }))
  }

  add(by: PushPopSchedule, it: ScheduleInCode): void {
    const refuse = (reason: string): never => {
      throw new Error(`Cannot make the schedule "${by.node.id}" because ${reason}`)
    }
    const place = `${it.queue}/${it.name}`
    const other = this.#byPlace.get(place)
    if (other) {
      refuse(
        `"${other.by.node.path}" is schedule "${it.name}" of queue "${it.queue}" too: give one of them another \`name\``,
      )
    }
    this.#byPlace.set(place, { by, it })
    const { roomForSchedules: bytesMax } = this.#service
    const bytes = bytesInEnvironment(JSON.stringify(this.#inOrder()))
    if (bytes <= bytesMax) return
    refuse(
      `the schedules of its service take ${bytes} bytes of the sweeper's environment with it, each quote counted ` +
        `twice, which has room for ${bytesMax} beside \`queueConfig\`: give them shorter items, or put some after the deployment, with ` +
        '`pushpop schedules QUEUE put`',
    )
  }

  /** In whatever order the app makes them: an environment that differs would be deployed again. */
  #inOrder(): readonly ScheduleInCode[] {
    return [...this.#byPlace].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { it }]) => it)
  }
}

/** Properties by the names that the API has for them. */
const properties: Readonly<Record<string, string>> = {
  id: 'queue',
  time_zone: 'timeZone',
  every_seconds: 'everySeconds',
  starts_at: 'startsAt',
  ends_at: 'endsAt',
}

const aText = (example: string) =>
  must(`a text, such as '${example}'`, (value) => typeof value === 'string')
const aDate = must("a Date, such as new Date('2027-01-01')", types.isDate)

/** What the engine's checks would not explain: they are for values of the right type. */
const checks: Checks<PushPopScheduleProps> = {
  service: aService,
  queue: anything,
  name: anything,
  cron: aText('0 9 * * 1'),
  timeZone: aText('Europe/Berlin'),
  everySeconds: must('a number, such as 600', (value) => typeof value === 'number'),
  item: anything,
  priority: anything,
  startsAt: aDate,
  endsAt: aDate,
  missed: anything,
}

const checkScheduleProps = (id: string, props: PushPopScheduleProps): void =>
  checkProperties(`schedule "${id}"`, props, checks, ['service'])

/** Returns it as it will be deployed. */
function checkSchedule(id: string, given: ScheduleInCode): ScheduleInCode {
  const refuse = (reason: string): never => {
    throw new Error(`Cannot make the schedule "${id}" because ${reason}`)
  }
  const { queue, name, cron, timeZone } = given
  for (const [property, value] of Object.entries({ queue, name, cron, timeZone })) {
    if (Token.isUnresolved(value)) refuse(`\`${property}\` must be known when the app is run`)
  }
  try {
    const item = jsonOf(given.item)
    if (item === undefined) return refuse('`item` must be a JSON value')
    const schedule = { ...given, item: item.json }
    check(schedule)
    return schedule
  } catch (error) {
    if (error instanceof ListOfTokensError) {
      return refuse(
        '`item` has a list that only the deployment knows: name its elements one by one',
      )
    }
    if (!(error instanceof QueueError) || error.field === undefined) throw error
    const { field, message } = error
    const fromId = field === 'name' && name === id
    const instead = fromId ? ': give it a `name`, because its id cannot be one' : ''
    return refuse(`of \`${properties[field] ?? field}\`: ${inCamelCase(message)}${instead}`)
  }
}

function check(schedule: ScheduleInCode): void {
  checkQueueId(schedule.queue)
  checkScheduleName(schedule.name)
  const { queue: _, name: __, ...input } = inputOf(schedule)
  checkScheduleInput(input)
  // An interval then counts from 1970, which makes no difference to whether it ever comes.
  const { timing, startsAtMs = 0, endsAtMs } = definitionOf(input, undefined, 0)
  const times =
    'cron' in timing ? cronTimes(Cron, timing) : intervalTimes(timing.baseMs, timing.everySeconds)
  if (withinBounds(times, { startsAtMs, endsAtMs }).from(0) === undefined) throw neverDue(input)
}

const inCamelCase = (sentence: string): string =>
  sentence.replaceAll(/\b[a-z]+_[a-z]+\b/g, (word) => properties[word] ?? word)

/**
 * Converts an item to JSON, so that the synth checks exactly what it deploys: CDK would leave out undefined elements of
 * a list, and take a URL or a `toJSON` apart. Values that only the deployment knows stay tokens. Undefined if the item
 * is not JSON at all.
 */
function jsonOf(item: unknown): { readonly json: unknown } | undefined {
  let text: string | undefined
  try {
    text = JSON.stringify(item === undefined ? undefined : { item }, keepTokens)
  } catch (error) {
    if (error instanceof ListOfTokensError) throw error
    return undefined
  }
  if (text === undefined) return undefined
  const { item: json } = JSON.parse(text) as { item?: unknown }
  return json === undefined ? undefined : { json }
}

/** To write such a list as JSON, CDK would add another function to the stack. */
class ListOfTokensError extends Error {}

function keepTokens(this: unknown, key: string, value: unknown): unknown {
  // `value` is already the result of its `toJSON`.
  const original = (this as Record<string, unknown>)[key]
  if (isListOfTokens(original)) throw new ListOfTokensError()
  return Tokenization.isResolvable(original) ? Token.asString(original) : value
}

const isListOfTokens = (value: unknown): boolean =>
  Tokenization.isResolvable(value)
    ? (value as IResolvable).typeHint === ResolutionTypeHint.STRING_LIST
    : Array.isArray(value) && Token.isUnresolved(value)
