// Names of queues that no queue has: a consumer would never be called, and a grant would allow nothing.

import { Token } from 'aws-cdk-lib/core'
import { ID_RULE, isQueueId } from '../../shared/bounds.ts'
import { type Check, isObject, mustBe, settings } from './property-checks.ts'

const characters = /^[A-Za-z0-9._-]*$/

/** The queues that a consumer works. */
export const queueSelection: Check = (value, name) => {
  if (typeof value === 'string') return wrongId(value, name)
  if (Array.isArray(value)) {
    const wrong = value.map((id) => wrongId(id, name)).find((reason) => reason !== undefined)
    return value.length === 0 ? selectsNone(name) : wrong
  }
  if (!isObject(value)) {
    return mustBe(name, 'a queue id, a list of them, { prefix } or { pattern }', value)
  }
  const wrong = settings<{ prefix?: unknown; pattern?: unknown }>({ prefix, pattern })(value, name)
  if (wrong !== undefined) return wrong
  const given = [value.prefix, value.pattern].filter((one) => one !== undefined)
  if (given.length === 0) return selectsNone(name)
  return given.length === 1
    ? undefined
    : `\`${name}\` has a prefix and a pattern: write one of them`
}

const selectsNone = (name: string): string =>
  `\`${name}\` selects none: write the ids of queues, or how they begin`

const wrongId = (id: unknown, name: string): string | undefined => {
  if (isQueueId(id)) return undefined
  const start = beforeStar(id)
  const instead =
    start === undefined ? `an id is ${ID_RULE}` : `write { prefix: ${JSON.stringify(start)} }`
  return `\`${name}\` has ${JSON.stringify(id)}, which is not a queue id: ${instead}`
}

const prefix: Check = (value, name) => {
  if (value === '') return selectsNone('queues')
  // An id may begin with what only the deployment knows.
  if (typeof value === 'string' && (Token.isUnresolved(value) || characters.test(value))) {
    return undefined
  }
  const start = beforeStar(value)
  if (start !== undefined) {
    return `\`${name}\` is ${JSON.stringify(value)}, and no queue id has a "*": write ${JSON.stringify(start)}`
  }
  const wanted = 'the beginning of queue ids, in the characters A-Z a-z 0-9 . _ -'
  const instead = /^[A-Za-z0-9._*-]+$/.test(String(value))
    ? `: write { pattern: [{ wildcard: ${JSON.stringify(value)} }] }`
    : ''
  return mustBe(name, wanted, value) + instead
}

/** Only what EventBridge compares with a whole id, or with its beginning, can be seen to match nothing. */
const pattern: Check = (value, name) => {
  if (Token.isUnresolved(value)) return undefined
  if (!Array.isArray(value)) return mustBe(name, 'a list of matchers', value)
  if (value.length === 0) return selectsNone('queues')
  return value
    .map((matcher: unknown, at) => {
      if (Token.isUnresolved(matcher)) return undefined
      if (typeof matcher === 'string') return wrongId(matcher, name)
      const start = isObject(matcher) ? matcher.prefix : undefined
      return typeof start === 'string' && start !== ''
        ? prefix(start, `${name}[${at}].prefix`)
        : undefined
    })
    .find((reason) => reason !== undefined)
}

/** `device.` of `device.*` */
const beforeStar = (value: unknown): string | undefined =>
  typeof value === 'string' ? /^([A-Za-z0-9._-]+)\*+$/.exec(value)?.[1] : undefined

/** Says why a grant for these queues or keys would allow nothing; undefined if it may allow something. */
export function grantsNothing(ids: unknown, what: 'queue' | 'key'): string | undefined {
  if (!Array.isArray(ids)) {
    const instead = typeof ids === 'string' ? ids : `${what}-1`
    return `${mustBe(`${what}s`, 'a list', ids)}: write [${JSON.stringify(instead)}]`
  }
  if (ids.length === 0) return `\`${what}s\` is empty: leave it out to grant all of them`
  const wrong = ids.find((id) => !canBeGranted(id))
  if (wrong === undefined) return undefined
  return `no ${what} can be ${JSON.stringify(wrong)}: write ${ID_RULE}, and "*" for any others`
}

/** What only the deployment or IAM knows (`${aws:PrincipalTag/tenant}`) may be anything. */
function canBeGranted(id: unknown): boolean {
  if (typeof id !== 'string') return false
  if (Token.isUnresolved(id) || id.includes('${')) return true
  return /[*?]/.test(id) ? /^[A-Za-z0-9._*?-]+$/.test(id) : isQueueId(id)
}
