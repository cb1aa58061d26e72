// Properties that no service can have: the synth refuses them, before a deployment does.

import { type Duration, Token } from 'aws-cdk-lib/core'
import {
  REMIND_AFTER_SECONDS_MAX,
  REMIND_AFTER_SECONDS_MIN,
} from '../../lambdas/engine/core/limits.ts'
import { WAIT_MS_MAX } from '../../lambdas/rate/core/bounds.ts'
import type { Concurrency } from './function-settings.ts'
import type { Throttle } from './http-api.ts'
import { type QueueConfigPattern, queueConfigText } from './queue-config.ts'
import { type Sweepers, sweeperCounts } from './sweep-schedule.ts'

export const RATE_HOLD_SECONDS_MAX = WAIT_MS_MAX / 1_000
/** They are all in one row, which has 2.5 KB then: three write units to take a seat, and as many to leave it. */
export const WAITING_POPS_MAX = 200
/** The range that Lambda accepts as the concurrency of an SQS queue. */
export const INBOX_CONCURRENCY_MIN = 2
export const INBOX_CONCURRENCY_MAX = 1_000
/** More than any account has. */
export const CONCURRENCY_MAX = 100_000

export type Checked = {
  readonly rateHold?: Duration
  readonly waitingPops?: number
  readonly concurrency?: Concurrency
  readonly events?: boolean
  readonly inbox?: boolean
  readonly inboxConcurrency?: number
  readonly sweepers?: number
  readonly sweepEvery?: Duration
  readonly remindAfter?: Duration
  readonly queueConfig?: readonly QueueConfigPattern[]
  readonly throttle?: Throttle
  readonly serviceName?: string
}

export function checkService(id: string, props: Checked): void {
  const { rateHold, waitingPops = 0, concurrency = {}, events } = props
  const { sweepers = 1, sweepEvery, remindAfter, queueConfig } = props
  const refuse = (reason: string): never => {
    throw new Error(`Cannot make the service "${id}" because ${reason}`)
  }
  const seconds = rateHold?.toSeconds({ integral: false }) ?? 0
  if (seconds < 0 || seconds > RATE_HOLD_SECONDS_MAX) {
    refuse(`\`rateHold\` must be 0 to ${RATE_HOLD_SECONDS_MAX} seconds, and is ${seconds}`)
  }
  if (!Number.isInteger(waitingPops) || waitingPops < 0 || waitingPops > WAITING_POPS_MAX) {
    refuse(
      `\`waitingPops\` must be an integer from 0 to ${WAITING_POPS_MAX}, and is ${waitingPops}`,
    )
  }
  if (!sweeperCounts.includes(sweepers as Sweepers)) {
    refuse(`\`sweepers\` must be one of ${sweeperCounts.join(', ')}, and is ${sweepers}`)
  }
  const reminded = remindAfter?.toSeconds({ integral: false }) ?? REMIND_AFTER_SECONDS_MIN
  if (reminded < REMIND_AFTER_SECONDS_MIN || reminded > REMIND_AFTER_SECONDS_MAX) {
    refuse(
      `\`remindAfter\` must be ${REMIND_AFTER_SECONDS_MIN} to ${REMIND_AFTER_SECONDS_MAX} seconds, and is ${reminded}`,
    )
  }
  try {
    queueConfigText(queueConfig ?? [])
  } catch (error) {
    refuse(`of \`queueConfig\`: ${(error as Error).message}`)
  }
  for (const [name, count] of Object.entries(concurrency)) {
    if (Number.isInteger(count) && count >= 1 && count <= CONCURRENCY_MAX) continue
    refuse(
      `\`concurrency.${name}\` must be an integer from 1 to ${CONCURRENCY_MAX}, and is ${count}`,
    )
  }
  const { ReturnExpiredLocks: reserved = CONCURRENCY_MAX } = concurrency
  const needed = sweepersAtOnce(sweepers, sweepEvery)
  if (reserved < needed) {
    refuse(
      `\`concurrency.ReturnExpiredLocks\` must be ${needed} or more for ${sweepersInWords(sweepers, sweepEvery)}, and is ${reserved}`,
    )
  }
  checkGateway(props, refuse)
  checkInbox(props, refuse)
  if (events === false && concurrency.Announce !== undefined) {
    refuse('`concurrency.Announce` is for a function that is not there with `events: false`')
  }
}

function checkGateway({ throttle, serviceName }: Checked, refuse: (reason: string) => never): void {
  const { perSecond, burst } = throttle ?? { perSecond: 1, burst: 1 }
  // The gateway takes 0 as well, and then refuses every call.
  if (!(perSecond > 0 && perSecond < Number.POSITIVE_INFINITY)) {
    refuse(`\`throttle.perSecond\` must be a number above 0, and is ${perSecond}`)
  }
  if (!Number.isInteger(burst) || burst < 1) {
    refuse(`\`throttle.burst\` must be an integer of 1 or more, and is ${burst}`)
  }
  // The name of the bus, too.
  if (serviceName === undefined || Token.isUnresolved(serviceName)) return
  if (!/^[A-Za-z0-9._-]{1,256}$/.test(serviceName)) {
    refuse(
      `\`serviceName\` must be 1 to 256 letters, digits, ".", "_" and "-", and is "${serviceName}"`,
    )
  }
}

function checkInbox(
  { inbox = false, inboxConcurrency: count = INBOX_CONCURRENCY_MIN, concurrency = {} }: Checked,
  refuse: (reason: string) => never,
): void {
  if (!Number.isInteger(count) || count < INBOX_CONCURRENCY_MIN || count > INBOX_CONCURRENCY_MAX) {
    refuse(
      `\`inboxConcurrency\` must be an integer from ${INBOX_CONCURRENCY_MIN} to ${INBOX_CONCURRENCY_MAX}, and is ${count}`,
    )
  }
  const { ApplyInbox: reserved } = concurrency
  if (reserved === undefined) return
  if (!inbox) refuse('`concurrency.ApplyInbox` is for a function that is there with `inbox: true`')
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
