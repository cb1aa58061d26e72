// The options that each call knows. TypeScript checks that they are all here, and nothing else.

import type { Names } from '../lambdas/foundation/shared/known-options.ts'
import type { BulkOptions } from './bulk.ts'
import type { ClientOptions } from './connect.ts'
import type { CallOptions, ItemOptions, MatchOptions, PushItem, Queue } from './queue.ts'
import type { RetryOptions } from './retry.ts'
import type { ScheduleInput } from './schedules.ts'

type First<Verb extends keyof Queue> = Names<NonNullable<Parameters<Queue[Verb] & Call>[0]>>
type Second<Verb extends keyof Queue> = Names<NonNullable<Parameters<Queue[Verb] & Call>[1]>>
// biome-ignore lint/suspicious/noExplicitAny: a call may take any parameters.
type Call = (...given: any) => unknown

export const call: Names<CallOptions> = { signal: 0 }
const key = { idempotent: 0, idempotencyKey: 0, ...call } as const
const settle: Second<'acknowledge'> = { ids: 0, ...call }
const release: Second<'release'> = { delaySeconds: 0, overtake: 0, ...settle }

export const createClientNames: Names<ClientOptions> = {
  url: 0,
  auth: 0,
  fetch: 0,
  timeoutMs: 0,
  retry: 0,
  linger: 0,
}
export const retryNames: Names<RetryOptions> = { attemptsMax: 0, totalMs: 0, onRetry: 0 }
export const matchNames: Names<MatchOptions> = { ifMatch: 0, ...call }
export const bulkNames: Names<BulkOptions> = { prefix: 0, atOnce: 0, ...call }
export const schedule: Names<ScheduleInput<unknown>> = {
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
const item: Names<ItemOptions> = {
  priority: 0,
  expiresInSeconds: 0,
  expiresAt: 0,
  delaySeconds: 0,
  deliverAt: 0,
}
export const pushItem: Names<PushItem<unknown>> = { item: 0, ...item }
const push: Second<'push'> = { ...item, ...pushMany }
const pop: First<'pop'> = {
  count: 0,
  requireAck: 0,
  ack: 0,
  ttlSeconds: 0,
  competing: 0,
  waitSeconds: 0,
  acknowledge: 0,
  waitForLockMs: 0,
  hurry: 0,
  ...key,
}
const deadLetter: Second<'deadLetter'> = { reason: 0, ...settle }
const inspect: First<'inspect'> = { consistent: 0, oldest: 0, ...call }
const peek: First<'peek'> = { priority: 0, limit: 0, cursor: 0, from: 0, order: 0, ...call }
const move: Second<'move'> = { priority: 0, queue: 0, deliverAt: 0, ...call }
const purge: First<'purge'> = { priority: 0, ids: 0, ...call }
const redrive: First<'redrive'> = { limit: 0, ids: 0, ...call }
const scheduled: First<'scheduled'> = { limit: 0, cursor: 0, from: 0, to: 0, ...call }

/** By verb. */
export const optionNames = {
  push,
  pushMany,
  pop,
  acknowledge: settle,
  acknowledgeMany: call,
  extend: call,
  release,
  deadLetter,
  inspect,
  peek,
  scheduled,
  configuration: call,
  cancel: call,
  move,
  purge,
  redrive,
}
