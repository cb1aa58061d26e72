// The one table of verbs: what follows from a verb at both ends of the wire. A column is a constant by itself, so that a
// bundle drops the columns that it does not read; the first has every verb, and one that another column forgets is a
// type error. The names are the engine's; those of rate limits are the API's.
//
//   routes            method, path, and the API's name for it where that is another   gateway, functions, page, client
//   asks              what a request has                                              engine, client
//   served            the function, and what its caller must be allowed to do         gateway, functions
//   afterLostAnswer   may the client send it again?                                   client
//   has               what the client reads of the answer                             client
//   loaded            with the engine, or by the first call                           engine

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** What a caller may be allowed to do; a token's scope is `pushpop/<duty>`. */
export type Duty = 'push' | 'pop' | 'inspect' | 'manage' | 'rate'

/** Several verbs may be forms of one call: they have its name, and the same method and path. */
export const routes = {
  push: ['POST', '/queue/{id}/push'],
  pop: ['POST', '/queue/{id}/pop'],
  acknowledge: ['POST', '/queue/{id}/acknowledge'],
  acknowledgeMany: ['POST', '/queue/{id}/acknowledge', 'acknowledge'],
  extend: ['POST', '/queue/{id}/extend-lock', 'extendLock'],
  release: ['POST', '/queue/{id}/release'],
  deadLetter: ['POST', '/queue/{id}/dead-letter'],
  inspect: ['GET', '/queue/{id}'],
  browse: ['GET', '/queue/{id}/items'],
  scheduled: ['GET', '/queue/{id}/scheduled'],
  configuration: ['GET', '/queue/{id}/config'],
  configure: ['PUT', '/queue/{id}/config'],
  unconfigure: ['DELETE', '/queue/{id}/config'],
  cancel: ['POST', '/queue/{id}/cancel'],
  move: ['POST', '/queue/{id}/move'],
  schedules: ['GET', '/queue/{id}/schedules'],
  schedule: ['GET', '/queue/{id}/schedules/{name}'],
  putSchedule: ['PUT', '/queue/{id}/schedules/{name}'],
  deleteSchedule: ['DELETE', '/queue/{id}/schedules/{name}'],
  runSchedule: ['POST', '/queue/{id}/schedules/{name}/run'],
  pauseSchedule: ['POST', '/queue/{id}/schedules/{name}/pause'],
  resumeSchedule: ['POST', '/queue/{id}/schedules/{name}/resume'],
  purge: ['POST', '/queue/{id}/purge'],
  redrive: ['POST', '/queue/{id}/redrive'],
  list: ['GET', '/queues'],
  patterns: ['GET', '/queue-config', 'queuePatterns'],
  configurePatterns: ['PUT', '/queue-config', 'configureQueuePatterns'],
  decideRate: ['POST', '/rate/{key}'],
  rateState: ['GET', '/rate/{key}'],
  verifyTicket: ['GET', '/rate/{key}/tickets/{ticket}'],
  giveUpTicket: ['DELETE', '/rate/{key}/tickets/{ticket}'],
  rateConfiguration: ['GET', '/rate/{key}/config'],
  configureRate: ['PUT', '/rate/{key}/config'],
  unconfigureRate: ['DELETE', '/rate/{key}/config'],
  ratePatterns: ['GET', '/rate-config'],
  configureRatePatterns: ['PUT', '/rate-config'],
  health: ['GET', '/healthz'],
} as const satisfies Record<string, readonly [Method, `/${string}`, string?]>

/** A verb of the API. The engine has more: those that only our own functions call. */
export type Verb = keyof typeof routes

type QueueVerb = Exclude<
  Verb,
  `${string}${'Rate' | 'Ticket'}${string}` | `rate${string}` | 'health'
>

/**
 * What callers give with a request. The engine takes one object, the client what is needed first and the rest as
 * options. On the wire names are in snake case.
 *
 * - `itself`: a list that is no field of the engine's request either, but an argument.
 * - `time`, `second`: in milliseconds for the engine, which says so in the name; in seconds on the wire, with a
 *   fraction or whole.
 */
export type Asked = 'value' | 'list' | 'time' | 'second' | 'needed' | 'needed list' | 'itself'

/** A field as the engine calls it. */
export const engineName = (name: string, kind: Asked): string =>
  kind === 'time' || kind === 'second' ? `${name}Ms` : name

/** `push`, and those that take settings or a schedule, are not here: their ends check them by what these hold. */
export const asks = {
  pop: {
    count: 'value',
    requireAck: 'value',
    ttlSeconds: 'value',
    competing: 'value',
    acknowledge: 'value',
    waitSeconds: 'value',
    idempotencyKey: 'value',
  },
  acknowledge: { lockId: 'needed', ids: 'list' },
  acknowledgeMany: { lockIds: 'itself' },
  extend: { lockId: 'needed', ttlSeconds: 'needed' },
  release: { lockId: 'needed', ids: 'list', delaySeconds: 'value', overtake: 'value' },
  deadLetter: { lockId: 'needed', ids: 'list', reason: 'value' },
  inspect: { consistent: 'value', oldest: 'value' },
  browse: { priority: 'value', limit: 'value', cursor: 'value', from: 'value', order: 'value' },
  scheduled: { limit: 'value', cursor: 'value', from: 'second', to: 'second' },
  configuration: {},
  unconfigure: { ifMatch: 'value' },
  cancel: { ids: 'itself' },
  move: { ids: 'needed list', priority: 'value', queue: 'value', deliverAt: 'time' },
  schedules: {},
  schedule: {},
  deleteSchedule: { ifMatch: 'value' },
  runSchedule: {},
  pauseSchedule: {},
  resumeSchedule: {},
  purge: { priority: 'value', ids: 'list' },
  redrive: { limit: 'value', ids: 'list' },
  list: { prefix: 'value', ids: 'list', detail: 'value', limit: 'value', cursor: 'value' },
  patterns: {},
} as const satisfies Record<
  Exclude<QueueVerb, 'push' | 'configure' | 'configurePatterns' | 'putSchedule'>,
  Readonly<Record<string, Asked>>
>

/** Without a duty, it is open to everybody. */
export const served = {
  push: ['Push', 'push'],
  pop: ['Pop', 'pop'],
  acknowledge: ['Settle', 'pop'],
  acknowledgeMany: ['Settle', 'pop'],
  extend: ['Settle', 'pop'],
  release: ['Settle', 'pop'],
  deadLetter: ['Settle', 'pop'],
  inspect: ['Inspect', 'inspect'],
  browse: ['Inspect', 'inspect'],
  scheduled: ['Inspect', 'inspect'],
  configuration: ['Inspect', 'inspect'],
  configure: ['Manage', 'manage'],
  unconfigure: ['Manage', 'manage'],
  cancel: ['Manage', 'manage'],
  move: ['Manage', 'manage'],
  schedules: ['Inspect', 'inspect'],
  schedule: ['Inspect', 'inspect'],
  putSchedule: ['Manage', 'manage'],
  deleteSchedule: ['Manage', 'manage'],
  runSchedule: ['Manage', 'manage'],
  pauseSchedule: ['Manage', 'manage'],
  resumeSchedule: ['Manage', 'manage'],
  purge: ['Manage', 'manage'],
  redrive: ['Manage', 'manage'],
  list: ['Inspect', 'inspect'],
  patterns: ['Inspect', 'inspect'],
  configurePatterns: ['Manage', 'manage'],
  decideRate: ['Rate', 'rate'],
  rateState: ['Rate', 'inspect'],
  verifyTicket: ['Rate', 'rate'],
  giveUpTicket: ['Rate', 'rate'],
  rateConfiguration: ['Rate', 'manage'],
  configureRate: ['Rate', 'manage'],
  unconfigureRate: ['Rate', 'manage'],
  ratePatterns: ['Rate', 'manage'],
  configureRatePatterns: ['Rate', 'manage'],
  health: ['Health'],
} as const satisfies Record<Verb, readonly [string, Duty?]>

/**
 * May the client send a call again after a lost answer, when it may have been carried out already?
 *
 * - `always`: reads; and calls about one lock, which its id identifies for ever: it ends once and never
 *   lives again, so a second copy finds it ended and changes nothing.
 * - `with-key`, `with-if-match`: only with a key or revision that keeps a second copy from having an effect.
 * - `if-asked`: a second copy takes another slot of a rate limit, and the first stays empty. Nobody gets two turns,
 *   so the caller may choose.
 * - `never`: a second copy would take what came in between (other items, pushed or dead-lettered), or get an answer
 *   that is not true of the first call (a place in line that was given up, an item that is gone because the first
 *   call has cancelled or moved it).
 */
export const afterLostAnswer = {
  push: 'with-key',
  pop: 'with-key',
  acknowledge: 'always',
  acknowledgeMany: 'always',
  extend: 'always',
  release: 'always',
  deadLetter: 'always',
  inspect: 'always',
  browse: 'always',
  scheduled: 'always',
  configuration: 'always',
  configure: 'with-if-match',
  unconfigure: 'with-if-match',
  cancel: 'never',
  move: 'never',
  schedules: 'always',
  schedule: 'always',
  putSchedule: 'with-if-match',
  deleteSchedule: 'with-if-match',
  runSchedule: 'never',
  pauseSchedule: 'never',
  resumeSchedule: 'never',
  purge: 'never',
  redrive: 'never',
  list: 'always',
  patterns: 'always',
  configurePatterns: 'with-if-match',
  decideRate: 'if-asked',
  rateState: 'always',
  verifyTicket: 'always',
  giveUpTicket: 'never',
  rateConfiguration: 'always',
  configureRate: 'with-if-match',
  unconfigureRate: 'with-if-match',
  ratePatterns: 'always',
  configureRatePatterns: 'with-if-match',
  health: 'always',
} as const satisfies Record<Verb, 'always' | 'with-key' | 'with-if-match' | 'if-asked' | 'never'>

const page = ['items', 'details'] as const
const settings = ['segment_size'] as const
const limit = ['max_requests'] as const
const schedule = ['name'] as const

/** What our code reads of each answer. A proxy, or another service, may answer 200 and `{}`. */
export const has = {
  push: ['ids'],
  pop: page,
  acknowledge: ['items_acknowledged'],
  acknowledgeMany: ['results'],
  extend: ['lock_id', 'lock_expires_at', 'ttl_seconds'],
  release: ['items_released'],
  deadLetter: ['items_dead_lettered', 'dead_letter_queue'],
  inspect: ['priorities', 'locks', 'configuration'],
  browse: page,
  scheduled: page,
  configuration: settings,
  configure: settings,
  unconfigure: settings,
  cancel: ['results'],
  move: ['results'],
  schedules: ['schedules'],
  schedule,
  putSchedule: schedule,
  deleteSchedule: ['deleted'],
  runSchedule: ['ids'],
  pauseSchedule: schedule,
  resumeSchedule: schedule,
  purge: ['items_purged'],
  redrive: ['items_redriven', 'items_left'],
  list: ['queues'],
  patterns: ['patterns'],
  configurePatterns: ['patterns'],
  decideRate: ['allowed'],
  rateState: ['shards', 'configuration'],
  verifyTicket: ['state', 'not_before'],
  giveUpTicket: ['given_up'],
  rateConfiguration: limit,
  configureRate: limit,
  unconfigureRate: limit,
  ratePatterns: ['patterns'],
  configureRatePatterns: ['patterns'],
  health: ['status'],
} as const satisfies Record<Verb, readonly string[]>

/**
 * Of the engine's verbs, those of the API and those that only our own functions call: a push or a pop loads no code at
 * its start that it never uses.
 */
export const loaded = {
  push: 'at start',
  flush: 'at start',
  pushTransactItem: 'by first call',
  transact: 'by first call',
  pop: 'at start',
  acknowledge: 'at start',
  acknowledgeMany: 'at start',
  extend: 'at start',
  release: 'at start',
  deadLetter: 'at start',
  inspect: 'by first call',
  browse: 'by first call',
  scheduled: 'by first call',
  configuration: 'by first call',
  configure: 'by first call',
  unconfigure: 'by first call',
  cancel: 'by first call',
  move: 'by first call',
  schedules: 'by first call',
  schedule: 'by first call',
  putSchedule: 'by first call',
  deleteSchedule: 'by first call',
  runSchedule: 'by first call',
  pauseSchedule: 'by first call',
  resumeSchedule: 'by first call',
  deploySchedules: 'by first call',
  purge: 'by first call',
  redrive: 'by first call',
  list: 'by first call',
  patterns: 'by first call',
  configurePatterns: 'by first call',
  deployPatterns: 'by first call',
  apply: 'by first call',
  housekeep: 'at start',
  returnExpiredLocks: 'by first call',
  wake: 'by first call',
  announceWaiting: 'by first call',
  startTimers: 'by first call',
} as const
