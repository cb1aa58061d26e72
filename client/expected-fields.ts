import type { Verb } from './retry.ts'

const page = ['items', 'details']
const settings = ['segment_size']
const limit = ['max_requests']
const schedule = ['name']

/** What our code reads of each answer. A proxy, or another service, may answer 200 and `{}`. */
const fieldsOf: Readonly<Record<Verb, readonly string[]>> = {
  push: ['ids'],
  pushMany: ['ids'],
  pop: page,
  acknowledge: ['items_acknowledged'],
  acknowledgeMany: ['results'],
  extend: ['lock_id', 'lock_expires_at', 'ttl_seconds'],
  release: ['items_released'],
  deadLetter: ['items_dead_lettered'],
  inspect: ['priorities', 'locks', 'configuration'],
  peek: page,
  scheduled: page,
  configuration: settings,
  configure: settings,
  unconfigure: settings,
  queuePatterns: ['patterns'],
  configureQueuePatterns: ['patterns'],
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
  queues: ['queues'],
  health: ['status'],
  decideRate: ['allowed'],
  rateState: ['shards', 'configuration'],
  verifyTicket: ['state', 'not_before'],
  giveUpTicket: ['given_up'],
  rateConfiguration: limit,
  configureRate: limit,
  unconfigureRate: limit,
  ratePatterns: ['patterns'],
  configureRatePatterns: ['patterns'],
}
/** Of these, our code goes through the values. */
const lists = /^(ids|items|details|results|priorities|patterns|schedules|queues|shards)$/

export function isAnswerTo(verb: Verb, body: object): boolean {
  // The inbox has taken the push; there are no ids yet.
  if ('accepted' in body && fieldsOf[verb][0] === 'ids') return 'message_id' in body
  return fieldsOf[verb].every((name) => {
    const value = (body as Readonly<Record<string, unknown>>)[name]
    return lists.test(name) ? Array.isArray(value) : value !== undefined
  })
}
