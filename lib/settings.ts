// The settings of PushPop's own app, from the CDK's context. Hides that they come as text, and how it refuses a wrong one.

import { Duration } from 'aws-cdk-lib/core'
import type { Node } from 'constructs'
import { logLevels } from '../shared/log-levels.ts'
import { type Sweepers, sweeperCounts } from './constructs/background.ts'
import {
  announceFiles,
  type Concurrency,
  functionSettings,
} from './constructs/function-settings.ts'
import type { Authorisation } from './constructs/http-api.ts'
import {
  type Bounds,
  bounds,
  ISSUER_RULE,
  isIssuer,
  isOrigin,
  ORIGIN_RULE,
} from './constructs/property-checks.ts'
import type { PushPopProps } from './constructs/service-props.ts'
import { sweepersAtOnce, sweepersInWords } from './constructs/service-props.ts'

export type Settings = {
  readonly stackName: string
  /** An existing SNS topic. */
  readonly alarmTopicArn?: string
  readonly service: PushPopProps
}

/** The settings that `-c name=value` sets; docs/configuration.md describes them. */
export function settingsOf(node: Node): Settings {
  const known = new Set<string>()
  const setting = (name: string): string | undefined => {
    known.add(name)
    const value: unknown = node.tryGetContext(name)
    if (value === undefined || value === '') return undefined
    return String(value)
  }
  const stage = setting('stage')
  if (stage !== undefined && !/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(stage)) {
    throw mustBe('stage', stage, 'letters, digits and hyphens, beginning with a letter')
  }
  const sweepEvery = seconds('sweepEvery', setting('sweepEvery'), bounds.sweepEverySeconds)
  const idempotencyTtl = seconds(
    'idempotencyTtl',
    setting('idempotencyTtl'),
    bounds.idempotencyTtlSeconds,
  )
  const remindAfter = seconds('remindAfter', setting('remindAfter'), bounds.remindAfterSeconds)
  const sweepers = oneOf('sweepers', setting('sweepers'), sweeperCounts.map(String))
  const events = oneOf('events', setting('events'), ['true', 'false']) !== 'false'
  const wake = oneOf('wake', setting('wake'), ['true', 'false']) !== 'false'
  const inbox = oneOf('inbox', setting('inbox'), ['true', 'false']) !== 'false'
  const inboxConcurrency = count(
    'inboxConcurrency',
    setting('inboxConcurrency'),
    bounds.inboxConcurrency,
  )
  const concurrency = concurrencyOf(setting('concurrency'), { events, inbox })
  checkSweepers(Number(sweepers ?? 1), sweepEvery, concurrency)
  const rateHold = seconds('rateHold', setting('rateHold'), bounds.rateHoldSeconds)
  const waitingPops = count('waitingPops', setting('waitingPops'), bounds.waitingPops)
  const logLevel = oneOf('logLevel', setting('logLevel'), logLevels)
  const itemAgeAlarm = seconds('itemAgeAlarm', setting('itemAgeAlarm'), bounds.itemAgeSeconds)
  const alarmTopicArn = setting('alarmTopic')
  if (alarmTopicArn !== undefined && !/^arn:[^:]+:sns:[^:]+:\d{12}:.+/.test(alarmTopicArn)) {
    throw mustBe('alarmTopic', alarmTopicArn, 'the ARN of an SNS topic')
  }
  const corsOrigins = listOf(setting('corsOrigins'))
  const page = corsOrigins.find((origin) => !isOrigin(origin))
  if (page !== undefined) throw mustBe('corsOrigins', page, ORIGIN_RULE)
  const settings: Settings = {
    ...(alarmTopicArn !== undefined && { alarmTopicArn }),
    stackName: stage === undefined ? 'PushPop' : `PushPop-${stage}`,
    service: {
      authorisation: authorisationOf(setting),
      throwaway: oneOf('throwaway', setting('throwaway'), ['true', 'false']) === 'true',
      events,
      inbox,
      wake,
      ...(inboxConcurrency !== undefined && { inboxConcurrency }),
      tracing: oneOf('tracing', setting('tracing'), ['true', 'false']) !== 'false',
      ...(sweepEvery && { sweepEvery }),
      ...(idempotencyTtl && { idempotencyTtl }),
      ...(remindAfter && { remindAfter }),
      ...(sweepers && { sweepers: Number(sweepers) as Sweepers }),
      ...(rateHold && { rateHold }),
      ...(waitingPops !== undefined && { waitingPops }),
      concurrency,
      ...(itemAgeAlarm && { itemAgeAlarm }),
      ...(logLevel && { logLevel }),
      corsOrigins,
    },
  }
  checkNames(Object.keys(node.getAllContext()), [...known].sort())
  return settings
}

/**
 * A misspelt name would set nothing, and nobody would notice. Names with signs in them (feature flags,
 * looked-up values) are the CDK's.
 */
function checkNames(given: readonly string[], known: readonly string[]): void {
  const unknown = given.find((name) => /^[a-z]+$/i.test(name) && !known.includes(name))
  if (unknown === undefined) return
  const near = known.find((name) => name.toLowerCase() === unknown.toLowerCase())
  const instead = near === undefined ? `there are ${known.join(', ')}` : `write "${near}"`
  throw new SettingError(`the setting "${unknown}" does not exist; ${instead}`)
}

function authorisationOf(setting: (name: string) => string | undefined): Authorisation {
  const kind = oneOf('auth', setting('auth'), ['iam', 'jwt', 'none']) ?? 'iam'
  const issuer = setting('issuer')
  const audience = listOf(setting('audience'))
  if (kind !== 'jwt') {
    // Naming an issuer means tokens: anything else would be a surprise.
    if (issuer !== undefined || audience.length > 0) {
      throw mustBe('auth', kind, '"jwt" where issuer and audience are set')
    }
    return { kind }
  }
  if (!isIssuer(issuer)) {
    throw mustBe('issuer', issuer, `${ISSUER_RULE}, with auth=jwt`)
  }
  if (audience.length === 0) {
    throw mustBe(
      'audience',
      undefined,
      'whom the tokens are for (one or, with commas, several), with auth=jwt',
    )
  }
  return { kind, issuer, audience }
}

/** `Rate:50,Push:200` */
function concurrencyOf(
  value: string | undefined,
  { events, inbox }: { readonly events: boolean; readonly inbox: boolean },
): Concurrency {
  const names = [
    ...Object.keys(functionSettings),
    ...(events ? Object.keys(announceFiles) : []),
    ...(inbox ? ['ApplyInbox'] : []),
  ]
  const parts = listOf(value).map((part) => /^(\w+):(\d{1,6})$/.exec(part) ?? [])
  const counts = new Map(parts.map(([, name = '', count]) => [name, Number(count)]))
  const isMeant = [...counts].every(
    ([name, count]) => names.includes(name) && count >= 1 && count <= bounds.concurrency.max,
  )
  if (isMeant && counts.size === parts.length) return Object.fromEntries(counts)
  const wanted = `functions, each once, with 1 to ${bounds.concurrency.max} environments, such as Rate:50,Push:200`
  throw mustBe('concurrency', value, `${wanted} (there are ${names.join(', ')})`)
}

function checkSweepers(
  sweepers: number,
  sweepEvery: Duration | undefined,
  { ReturnExpiredLocks: reserved }: Concurrency,
): void {
  const needed = sweepersAtOnce(sweepers, sweepEvery)
  if (reserved === undefined || reserved >= needed) return
  const wanted = `ReturnExpiredLocks:${needed} or more for ${sweepersInWords(sweepers, sweepEvery)}`
  throw mustBe('concurrency', `ReturnExpiredLocks:${reserved}`, wanted)
}

/** For a person at a terminal: one sentence, no stack trace. */
export class SettingError extends Error {
  constructor(reason: string) {
    super(`Cannot synthesise because ${reason}`)
  }
}

function mustBe(name: string, value: string | undefined, wanted: string): SettingError {
  const found = value === undefined ? 'it is not set' : `it is "${value}"`
  return new SettingError(`the setting "${name}" must be ${wanted}, and ${found}`)
}

function oneOf<T extends string>(
  name: string,
  value: string | undefined,
  known: readonly T[],
): T | undefined {
  if (value === undefined) return undefined
  const found = known.find((one) => one === value)
  if (found === undefined) throw mustBe(name, value, `one of ${known.join(', ')}`)
  return found
}

function seconds(name: string, value: string | undefined, allowed: Bounds): Duration | undefined {
  const number = count(name, value, allowed, 'a number of seconds')
  return number === undefined ? undefined : Duration.seconds(number)
}

function count(
  name: string,
  value: string | undefined,
  { min, max }: Bounds,
  what = 'a number',
): number | undefined {
  if (value === undefined) return undefined
  const number = Number(value)
  if (Number.isInteger(number) && number >= min && number <= max) return number
  throw mustBe(name, value, `${what} from ${min} to ${max}`)
}

const listOf = (value: string | undefined): string[] =>
  (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
