// Properties that no service can have: the synth refuses them, before a deployment or a function does.

import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import { type Duration, Token } from 'aws-cdk-lib/core'
import { ISSUER_RULE, isIssuer, isOrigin, ORIGIN_RULE } from './addresses.ts'
import type { Authorisation } from './authorisation.ts'
import {
  CONCURRENCY_BOUNDS,
  EVENT_ARCHIVE_DAYS,
  IDEMPOTENCY_TTL_SECONDS,
  INBOX_CONCURRENCY_BOUNDS,
  ITEM_AGE_SECONDS,
  RATE_HOLD_SECONDS,
  REMIND_AFTER_SECONDS,
  SWEEP_EVERY_SECONDS,
  WAITING_POPS,
} from './bounds.ts'
import type { Concurrency } from './function-settings.ts'
import { logLevels } from './functions.ts'
import type { Throttle } from './http-api.ts'
import {
  anything,
  type Check,
  type Checks,
  checkProperties,
  duration,
  integer,
  isObject,
  listOf,
  must,
  mustBe,
  oneOf,
  settings,
  yesOrNo,
} from './property-checks.ts'
import type { PushPopProps } from './push-pop.ts'
import { type QueueConfigLimit, type QueueConfigPattern, queueConfigText } from './queue-config.ts'
import { sweeperCounts } from './sweep-schedule.ts'

export const aTopic = must(
  "a topic, such as Topic.fromTopicArn(this, 'Operators', arn)",
  (value) => isObject(value) && 'topicArn' in value,
)

const environments = integer(CONCURRENCY_BOUNDS)

const concurrency = settings<Concurrency>({
  Push: environments,
  Pop: environments,
  Settle: environments,
  Inspect: environments,
  Manage: environments,
  Rate: environments,
  ReturnExpiredLocks: environments,
  Housekeep: environments,
  Health: environments,
  Announce: environments,
  ApplyInbox: environments,
})

const throttle = settings<Throttle>(
  {
    // The gateway takes 0 as well, and then refuses every call.
    perSecond: must('a number above 0', (value) => Number.isFinite(value) && Number(value) > 0),
    burst: must('an integer of 1 or more', (value) => Number.isInteger(value) && Number(value) > 0),
  },
  ['perSecond', 'burst'],
)

const forTokens = settings<Extract<Authorisation, { kind: 'jwt' }>>(
  {
    kind: anything,
    issuer: must(ISSUER_RULE, isIssuer),
    audience: must(
      'a list of whom the tokens are for',
      (value) => Array.isArray(value) && value.length > 0 && value.every(isText),
    ),
  },
  ['issuer', 'audience'],
)

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''

const authorisation: Check = (value, name) => {
  const wanted = `{ kind: 'iam' }, { kind: 'none' } or { kind: 'jwt', issuer, audience }`
  if (!isObject(value)) return mustBe(name, wanted, value)
  if (value.kind === 'jwt') return forTokens(value, name)
  const isKnown = value.kind === 'iam' || value.kind === 'none'
  const names = Object.keys(value).filter((key) => value[key] !== undefined)
  // Naming an issuer means tokens: anything else would be a surprise.
  if (isKnown && names.length === 1) return undefined
  const given = isKnown ? names.join(', ') : JSON.stringify(value.kind)
  return `\`${name}\` must be ${wanted}, and has ${isKnown ? given : `the kind ${given}`}`
}

/** The values are for `queueConfigText`: here it is the names, which the engine would not explain. */
const limit: Check = (value, name) =>
  isObject(value)
    ? settings<QueueConfigLimit>({
        maxRequests: anything,
        windowMillis: anything,
        algorithm: anything,
        burst: anything,
      })(value, name)
    : undefined

const pattern = settings<QueueConfigPattern>({
  prefix: anything,
  segmentSize: anything,
  bufferSegments: anything,
  maxDeliveries: anything,
  capacity: anything,
  itemTtlSeconds: anything,
  expired: anything,
  pushLimit: limit,
  popLimit: limit,
})

const checks: Checks<PushPopProps> = {
  authorisation,
  throwaway: yesOrNo,
  throttle,
  wake: yesOrNo,
  sweepEvery: duration(SWEEP_EVERY_SECONDS),
  sweepers: oneOf(sweeperCounts),
  remindAfter: duration(REMIND_AFTER_SECONDS),
  queueConfig: listOf(pattern),
  idempotencyTtl: duration(IDEMPOTENCY_TTL_SECONDS),
  rateHold: duration(RATE_HOLD_SECONDS, { isWhole: false }),
  waitingPops: integer(WAITING_POPS),
  concurrency,
  corsOrigins: listOf(must(ORIGIN_RULE, isOrigin)),
  logLevel: oneOf(logLevels),
  logRetention: must(
    'one of RetentionDays, such as RetentionDays.ONE_WEEK',
    (value) =>
      typeof value === 'number' &&
      (Token.isUnresolved(value) || RetentionDays[value] !== undefined),
  ),
  tracing: yesOrNo,
  // The name of the bus, too.
  serviceName: must(
    '1 to 256 letters, digits, ".", "_" and "-"',
    (value) =>
      typeof value === 'string' &&
      (Token.isUnresolved(value) || /^[A-Za-z0-9._-]{1,256}$/.test(value)),
  ),
  events: yesOrNo,
  eventArchive: duration(EVENT_ARCHIVE_DAYS, { unit: 'days' }),
  inbox: yesOrNo,
  inboxConcurrency: integer(INBOX_CONCURRENCY_BOUNDS),
  alarms: yesOrNo,
  alarmTopic: aTopic,
  itemAgeAlarm: duration(ITEM_AGE_SECONDS),
  dashboard: yesOrNo,
}

export function checkService(id: string, props: PushPopProps): void {
  checkProperties(`service "${id}"`, props, checks)
  const refuse = (reason: string): never => {
    throw new Error(`Cannot make the service "${id}" because ${reason}`)
  }
  const { concurrency = {}, events, inbox, sweepers = 1, sweepEvery, queueConfig = [] } = props
  try {
    queueConfigText(queueConfig)
  } catch (error) {
    refuse(`of \`queueConfig\`: ${(error as Error).message}`)
  }
  const { ReturnExpiredLocks: reserved = CONCURRENCY_BOUNDS.max } = concurrency
  const needed = sweepersAtOnce(sweepers, sweepEvery)
  if (reserved < needed) {
    refuse(
      `\`concurrency.ReturnExpiredLocks\` must be ${needed} or more for ${sweepersInWords(sweepers, sweepEvery)}, and is ${reserved}`,
    )
  }
  if (inbox !== true && concurrency.ApplyInbox !== undefined) {
    refuse('`concurrency.ApplyInbox` is for a function that is there with `inbox: true`')
  }
  if (events === false && concurrency.Announce !== undefined) {
    refuse('`concurrency.Announce` is for a function that is not there with `events: false`')
  }
}

const isFiner = (sweepEvery: Duration | undefined): boolean =>
  sweepEvery !== undefined && sweepEvery.toSeconds({ integral: false }) < 60

/**
 * Environments that the schedule fills. A run that sweeps more often than once a minute ends when the next
 * one is to begin, some seconds later if it is in the middle of a queue; then two of each part meet.
 */
export const sweepersAtOnce = (sweepers: number, sweepEvery: Duration | undefined): number =>
  isFiner(sweepEvery) ? 2 * sweepers : sweepers

export const sweepersInWords = (sweepers: number, sweepEvery: Duration | undefined): string =>
  `\`sweepers\` of ${sweepers}${isFiner(sweepEvery) ? ' with `sweepEvery` below 60 seconds' : ''}`
