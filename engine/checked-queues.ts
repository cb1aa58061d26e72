// The engine for callers whom no compiler may have checked: it refuses options and requests with names that it does not
// know. One that we passed over may be the one that keeps items: a pop whose `require_ack` we do not see is for good.
// The table of verbs has the names, and TypeScript checks that it has all of them, and nothing else.

import {
  checkFields,
  checkIs,
  type Names,
  type Rule,
  refusingUnknown,
  type Same,
} from '../shared/options.ts'
import { type Asked, asks, engineName, routes } from '../shared/verbs.ts'
import {
  IDEMPOTENCY_TTL_SECONDS_MAX,
  IDEMPOTENCY_TTL_SECONDS_MIN,
  REMIND_AFTER_SECONDS_MAX,
  REMIND_AFTER_SECONDS_MIN,
} from './core/limits.ts'
import type { QueuesOptions } from './create-engine.ts'
import { createQueues as createTrustingQueues, type Queues } from './queues.ts'

type Given<Verb extends keyof Queues, At extends number> = Names<
  NonNullable<Parameters<Queues[Verb]>[At]>
>

const optionNames: Names<QueuesOptions> = {
  tableName: 0,
  bucketName: 0,
  dynamodb: 0,
  s3: 0,
  clock: 0,
  random: 0,
  idempotencyTtlSeconds: 0,
  events: 0,
  remindAfterSeconds: 0,
  waitingPopsMax: 0,
  linger: 0,
  onBackgroundError: 0,
  onItemsExpired: 0,
  onSegmentMoved: 0,
}

type Path<V extends Asking> = (typeof routes)[V][1]
/** Behind the queue, and a schedule's name. */
type At<V extends Asking> =
  Path<V> extends `${string}{${string}{${string}`
    ? 2
    : Path<V> extends `${string}{${string}`
      ? 1
      : 0

type Asks = typeof asks
type Asking = keyof Asks

/** Of the engine alone: no caller of the API gives these. */
const beside = { pop: { forConsumer: 0, signal: 0, receivedMs: 0 } } as const

type Beside<V> = V extends keyof typeof beside ? keyof (typeof beside)[V] : never
type NameOf<Name, Kind> = Kind extends 'time' | 'second' ? `${Name & string}Ms` : Name
type Told<V extends Asking> =
  | { [Name in keyof Asks[V]]: NameOf<Name, Asks[V][Name]> }[keyof Asks[V]]
  | Beside<V>

/** A verb of which the table and the engine say different things. */
type Odd = {
  [V in Asking]: Asks[V][keyof Asks[V]] extends 'itself'
    ? never
    : Same<Told<V>, keyof NonNullable<Parameters<Queues[V]>[At<V>]>> extends true
      ? never
      : V
}[Asking]
/** There is none, or this is a type error that names it. */
const odd: Record<Odd, never> = {}

const needed = { isNeeded: true } as const
const list = { is: 'a list' } as const

/** What the table says of a verb. */
function rulesOf(verb: Asking): readonly Rule[] {
  const fields = Object.entries<Asked>(asks[verb])
  if (fields.length === 0) return []
  const at = routes[verb][1].split('{').length - 1
  const alone = fields.find(([, kind]) => kind === 'itself')
  if (alone !== undefined) return [{ at, called: alone[0], ...list, ...needed }]
  const told = fields.map(([name, kind]) => [engineName(name, kind), 0])
  const names = { ...Object.fromEntries(told), ...(verb === 'pop' && beside.pop) }
  const isNeeded = fields.some(([, kind]) => kind.startsWith('needed')) && needed
  const lists = fields.filter(([, kind]) => kind.endsWith('list'))
  return [
    { at, names, ...isNeeded },
    ...lists.map(([field, kind]) => ({ at, field, ...list, ...(kind !== 'list' && needed) })),
  ]
}

const tabled = Object.fromEntries(
  (Object.keys(asks) as Asking[]).map((verb) => [verb, rulesOf(verb)]),
) as Readonly<Record<Asking, readonly Rule[]>>

const push: Given<'push', 1> = { items: 0, idempotencyKey: 0, receivedMs: 0 }
const match: Given<'configure', 2> = { ifMatch: 0 }
const schedule: Given<'putSchedule', 2> = {
  cron: 0,
  timeZone: 0,
  everySeconds: 0,
  text: 0,
  priority: 0,
  startsAtMs: 0,
  endsAtMs: 0,
  missed: 0,
}
const deadline: Given<'startTimers', 0> = { deadlineMs: 0 }
const apply: Given<'apply', 2> = { ...deadline, giveUp: 0 }
const sweep: Given<'returnExpiredLocks', 0> = {
  ...deadline,
  queuesMax: 0,
  tidyUntilMs: 0,
  shards: 0,
  onNext: 0,
}
const wake: Given<'wake', 0> = { ...deadline, untilMs: 0, takesOver: 0 }
const announce: Given<'announceWaiting', 0> = {
  ...deadline,
  consumersAreGone: 0,
  prefix: 0,
  cursor: 0,
}
const housekeep: Given<'housekeep', 1> = { leaveStuck: 0 }

/** By verb. The names in an item of a push are checked with the item, those in settings with the settings. */
export const requestNames: Readonly<Record<keyof Queues, readonly Rule[]>> = {
  ...odd,
  ...tabled,
  push: [
    { at: 1, names: push, ...needed },
    { at: 1, field: 'items', ...list, each: 'an object', ...needed },
  ],
  flush: [],
  pushTransactItem: [{ at: 1, called: 'the item', ...needed }],
  transact: [
    { at: 1, called: 'items', ...list, each: 'an object', ...needed },
    { at: 2, called: 'send', is: 'a function', ...needed },
  ],
  configure: [
    { at: 1, called: 'the change', ...needed },
    { at: 2, names: match },
  ],
  configurePatterns: [{ at: 1, names: match }],
  deployPatterns: [],
  putSchedule: [
    { at: 2, names: schedule, ...needed },
    { at: 3, names: match },
  ],
  deploySchedules: [
    { at: 0, called: 'schedules', ...list, ...needed },
    { at: 2, names: deadline },
  ],
  apply: [{ at: 2, names: apply }],
  returnExpiredLocks: [{ at: 0, names: sweep }],
  wake: [{ at: 0, names: wake }],
  announceWaiting: [{ at: 0, names: announce }],
  startTimers: [{ at: 0, names: deadline }],
  housekeep: [{ at: 1, names: housekeep }],
}

/**
 * Refuses options with which the engine would break its promises: with a time of 0, a key is forgotten at once, and
 * a repeated push pushes again. Not in the engine itself, because its own tests take shorter times.
 */
function checkQueuesOptions(options: QueuesOptions): void {
  checkFields(options, optionNames, undefined)
  for (const name of ['dynamodb', 's3'] as const) checkStore(name, options[name])
  const { idempotencyTtlSeconds, remindAfterSeconds, waitingPopsMax } = options
  checkWhole('idempotencyTtlSeconds', idempotencyTtlSeconds, {
    min: IDEMPOTENCY_TTL_SECONDS_MIN,
    max: IDEMPOTENCY_TTL_SECONDS_MAX,
  })
  checkWhole('remindAfterSeconds', remindAfterSeconds, {
    min: REMIND_AFTER_SECONDS_MIN,
    max: REMIND_AFTER_SECONDS_MAX,
  })
  checkWhole('waitingPopsMax', waitingPopsMax, { min: 0, max: Number.MAX_SAFE_INTEGER })
  const functions = ['random', 'onBackgroundError', 'onItemsExpired', 'onSegmentMoved'] as const
  for (const name of functions) {
    if (options[name] !== undefined) checkIs('a function', options[name], `${name} must be`)
  }
  if (options.events !== undefined) checkIs('a boolean', options.events, 'events must be')
  if (options.clock !== undefined) checkFields(options.clock, undefined, 'clock')
}

/** Without this, a queue would work until it is long enough to need S3. */
function checkStore(name: string, store: object | undefined): void {
  if (typeof store === 'function' && name === 's3') return
  if (typeof (store as { send?: unknown } | undefined)?.send === 'function') return
  const what =
    name === 's3' ? 'a client of S3, or a function that makes one' : 'a client of DynamoDB'
  const got = store === undefined || store === null ? store : `a ${typeof store}`
  throw new TypeError(`${name} must be ${what}, and got ${got}`)
}

type Bounds = { readonly min: number; readonly max: number }

function checkWhole(name: string, value: number | undefined, { min, max }: Bounds): void {
  if (value === undefined) return
  if (Number.isInteger(value) && value >= min && value <= max) return
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `from ${min} to ${max}`
  const is = typeof value === 'number' ? value : JSON.stringify(value)
  throw new TypeError(`${name} must be a whole number ${range}, and is ${is}`)
}

export function createQueues(options: QueuesOptions): Queues {
  checkQueuesOptions(options)
  return careful(createTrustingQueues(options))
}

export const careful = (queues: Queues): Queues => refusingUnknown(queues, requestNames)
