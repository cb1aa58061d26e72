// What each call takes, and the options that it knows. TypeScript checks that they are all here, and nothing else.

import { type GivenName, givenFields } from '../shared/item-fields.ts'
import type { Names, Requests } from '../shared/options.ts'
import type {
  CallOptions,
  ItemOptions,
  MatchOptions,
  PushItem,
  Queue,
  ScheduleInput,
  Schedules,
} from './queue.ts'
import type { QueuePattern, QueuePatternVerbs } from './queue-calls.ts'
import type { DecideOptions, RateLimit, RatePatternVerbs, WaitOptions } from './rate.ts'
import { optionsOf, tabledRules } from './tabled-calls.ts'

// biome-ignore lint/suspicious/noExplicitAny: a call may take any parameters.
type Call = (...given: any) => unknown
type First<Verb extends keyof Queue> = Names<NonNullable<Parameters<Queue[Verb] & Call>[0]>>
type Second<Verb extends keyof Queue> = Names<NonNullable<Parameters<Queue[Verb] & Call>[1]>>

export const call: Names<CallOptions> = { signal: 0 }
const key = { idempotent: 0, idempotencyKey: 0, ...call } as const
const match: Names<MatchOptions> = { ifMatch: 0, ...call }
const schedule: Names<ScheduleInput<unknown>> = {
  item: 0,
  priority: 0,
  cron: 0,
  timeZone: 0,
  everySeconds: 0,
  startsAt: 0,
  endsAt: 0,
  missed: 0,
}

const pushMany: Second<'pushMany'> = { respondAsync: 0, ...key }

type OptionOf<Name> = Name extends `${infer Time}Ms` ? Time : Name

/** What a push may give, under the client's names: those of times do not tell the unit, because a time may be a Date. */
export const itemOptions = /* @__PURE__ */ givenFields.map((field) => ({
  ...field,
  option: field.name.replace(/Ms$/, '') as OptionOf<GivenName> satisfies keyof ItemOptions,
}))

const item = /* @__PURE__ */ Object.fromEntries(
  itemOptions.map(({ option }) => [option, 0]),
) as Names<ItemOptions>
const pushItem: Names<PushItem<unknown>> = { item: 0, ...item }
const push: Second<'push'> = { ...item, ...pushMany }
const pop: First<'pop'> = {
  ...optionsOf('pop'),
  waitForLockMs: 0,
  hurry: 0,
  ...key,
}
const pattern: Names<QueuePattern> = { prefix: 0, settings: 0 }
export const peek = optionsOf('browse')

export const optional = (at: number, names: Readonly<Record<string, 0>>) => [{ at, names }] as const
const needed = { isNeeded: true } as const
const list = { is: 'a list', ...needed } as const
/** A limit, or a queue, is configured by what the service checks. */
const configure = [
  { at: 0, called: 'the settings', ...needed },
  { at: 1, names: match },
] as const

export const queueRules: Requests<Queue> = {
  push: optional(1, push),
  pushMany: [{ at: 0, called: 'items', ...list, each: pushItem }, ...optional(1, pushMany)],
  pop: optional(0, pop),
  configure,
  ...tabledRules,
}
export const scheduleRules: Requests<Schedules<unknown>> = {
  list: optional(0, call),
  get: optional(1, call),
  put: [{ at: 1, called: 'the schedule', names: schedule, ...needed }, ...optional(2, match)],
  delete: optional(1, match),
  run: optional(1, call),
  pause: optional(1, call),
  resume: optional(1, call),
}
const patterns = [
  { at: 0, called: 'patterns', ...list, each: pattern },
  ...optional(1, match),
] as const
export const queuePatternRules: Requests<QueuePatternVerbs> = {
  queuePatterns: optional(0, call),
  configureQueuePatterns: patterns,
}

const wait: Names<WaitOptions> = {
  maxWaitMs: 0,
  cost: 0,
  caller: 0,
  maxRequests: 0,
  maxRequestsInQueue: 0,
  windowMillis: 0,
  repeatLost: 0,
  ...call,
}
const decide: Names<DecideOptions> = { canWait: 0, ...wait }

export const rateRules: Requests<RateLimit> = {
  decide: optional(0, decide),
  wait: optional(0, wait),
  verify: optional(1, call),
  giveUp: optional(1, call),
  state: optional(0, call),
  configuration: optional(0, call),
  configure,
  unconfigure: optional(0, match),
}
export const ratePatternRules: Requests<RatePatternVerbs> = {
  ratePatterns: optional(0, call),
  configureRatePatterns: patterns,
}
