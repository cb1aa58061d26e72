// What a service may be told. Properties that no service can have are refused by the synth, before a deployment or a
// function does.

import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import { type Duration, Token } from 'aws-cdk-lib/core'
import { type LogLevel, logLevels } from '../../shared/log-levels.ts'
import { type Sweepers, sweeperCounts } from './background.ts'
import type { Concurrency } from './function-settings.ts'
import { type QueueConfigLimit, type QueueConfigPattern, queueConfigText } from './functions.ts'
import type { Authorisation, Throttle } from './http-api.ts'
import {
  anything,
  aTopic,
  bounds,
  type Check,
  type Checks,
  checkProperties,
  duration,
  ISSUER_RULE,
  integer,
  isIssuer,
  isObject,
  isOrigin,
  listOf,
  must,
  mustBe,
  ORIGIN_RULE,
  oneOf,
  settings,
  yesOrNo,
} from './property-checks.ts'

export type PushPopProps = {
  /** Default: IAM. */
  readonly authorisation?: Authorisation
  /** For trying out: the data is deleted with the stack. Otherwise table and bucket outlive it. */
  readonly throwaway?: boolean
  /** Limits the calls to all queues together. Default: 1,000 a second, and bursts of 2,000. */
  readonly throttle?: Throttle
  /**
   * Ends locks within a second or two of their time: a small function stays awake while some end soon. It costs
   * nothing while nothing is locked, and some $11 a month if something always is. Without it, locks end at the next
   * sweep. Default: on.
   */
  readonly wake?: boolean
  /** How late the sweeper may end an expired lock: 1 to 60 seconds. A pop ends it at once. Default: 60. */
  readonly sweepEvery?: Duration
  /** How many runs sweep side by side, each its part of the queues: 1, 2, 4, 8 or 16. Default: 1. */
  readonly sweepers?: Sweepers
  /**
   * PushPop announces items that nobody takes again after this long, then after twice as long, and so on up to
   * an hour: 10 seconds to an hour. Default: 5 minutes.
   */
  readonly remindAfter?: Duration
  /**
   * Settings of queues by the beginning of their ids. When a deployment changes them, they replace all existing
   * ones; until then, what somebody puts with `PUT /queue-config` holds. Default: deployments change nothing.
   */
  readonly queueConfig?: readonly QueueConfigPattern[]
  /** How long we remember an Idempotency-Key. Default: a day. */
  readonly idempotencyTtl?: Duration
  /**
   * How long a call may wait for its turn under a rate limit: up to 20 seconds. If its turn is later, it gets a
   * ticket. Each waiting call takes an environment of a function. Default: 2 seconds.
   */
  readonly rateHold?: Duration
  /**
   * How many pops may wait for an item (`wait_seconds`) at once, each for up to 20 seconds in an environment of a
   * function: 0 to 200. Others get their answers at once. Default: 5.
   */
  readonly waitingPops?: number
  /**
   * How many environments functions may have at once, `{ Rate: 50 }`: this reserves part of the account's
   * concurrency for them. Default: as many as the account has.
   */
  readonly concurrency?: Concurrency
  /** Pages of these origins may call from a browser. Default: none. */
  readonly corsOrigins?: readonly string[]
  readonly logLevel?: LogLevel
  /** Default: a month. */
  readonly logRetention?: RetentionDays
  /** X-Ray. Default: on. */
  readonly tracing?: boolean
  /** Tells the metrics of several services apart. Default: the stack's name (and the construct's id). */
  readonly serviceName?: string
  /** Puts events from the table's stream on the service's own bus. Default: on. */
  readonly events?: boolean
  /** How long the archive keeps events for a replay. Default: a week. */
  readonly eventArchive?: Duration
  /**
   * An SQS queue for pushes that PushPop applies later, in order and once: from callers who prefer not to wait,
   * and from anything in AWS that may send to it. While idle, it costs some $0.30 a month. Default: off.
   */
  readonly inbox?: boolean
  /** How many environments apply the inbox at once: 2 to 1,000. Default: 5. */
  readonly inboxConcurrency?: number
  /** Twenty alarms, and two for an inbox, at $0.10 a month for each metric that they read. Default: on. */
  readonly alarms?: boolean
  /** Gets a message when an alarm begins and when it is over. */
  readonly alarmTopic?: ITopic
  /** One more alarm, for items that had waited longer than this when they were popped. */
  readonly itemAgeAlarm?: Duration
  /** Default: on. */
  readonly dashboard?: boolean
}

const environments = integer(bounds.concurrency)

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
  sweepEvery: duration(bounds.sweepEverySeconds),
  sweepers: oneOf(sweeperCounts),
  remindAfter: duration(bounds.remindAfterSeconds),
  queueConfig: listOf(pattern),
  idempotencyTtl: duration(bounds.idempotencyTtlSeconds),
  rateHold: duration(bounds.rateHoldSeconds, { isWhole: false }),
  waitingPops: integer(bounds.waitingPops),
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
  eventArchive: duration(bounds.eventArchiveDays, { unit: 'days' }),
  inbox: yesOrNo,
  inboxConcurrency: integer(bounds.inboxConcurrency),
  alarms: yesOrNo,
  alarmTopic: aTopic,
  itemAgeAlarm: duration(bounds.itemAgeSeconds),
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
  const { ReturnExpiredLocks: reserved = bounds.concurrency.max } = concurrency
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
