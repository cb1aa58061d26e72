import { QueueError } from '../../foundation/errors.ts'
import { snakeCase } from '../../foundation/shared/wire-names.ts'
import { type GuardLimit, guardNames } from '../../rate/core/setting-fields.ts'
import { settingsFrom } from '../../rate/core/settings.ts'
import {
  BUFFER_SEGMENTS_DEFAULT,
  BUFFER_SEGMENTS_MAX,
  MAX_DELIVERIES_MAX,
  ROOM_UNLIMITED,
  SEGMENT_SIZE_DEFAULT,
  SEGMENT_SIZE_MAX,
} from './limits.ts'

export type Configuration = {
  /** 0 until the queue is configured, then one more with each change. */
  readonly revision: number
  /** For lanes made later; a lane keeps the size it was made with. */
  readonly segmentSize: number
  readonly bufferSegments: number
  /** An item that came back this often goes to the dead-letter queue. */
  readonly maxDeliveries?: number
  /** Items the queue may hold. */
  readonly capacity?: number
  /** Calls that push; those that pop. */
  readonly pushLimit?: GuardLimit
  readonly popLimit?: GuardLimit
}

/** What is absent is as of any rate limit: a window of one second. */
export type LimitInput = Pick<GuardLimit, 'maxRequests'> & {
  readonly [Name in keyof GuardLimit]?: GuardLimit[Name] | undefined
}

/** `null` takes a setting away; what is absent stays. */
export type ConfigurationChange = {
  readonly segmentSize?: number | undefined
  readonly bufferSegments?: number | undefined
  readonly maxDeliveries?: number | null | undefined
  readonly capacity?: number | null | undefined
  readonly pushLimit?: LimitInput | null | undefined
  readonly popLimit?: LimitInput | null | undefined
}

export const defaultConfiguration: Configuration = {
  revision: 0,
  segmentSize: SEGMENT_SIZE_DEFAULT,
  bufferSegments: BUFFER_SEGMENTS_DEFAULT,
}

/** Every setting of a queue, once; the wire has the same names in snake_case. */
export const configurationFields = {
  segmentSize: { kind: 'integer', max: SEGMENT_SIZE_MAX, removable: false },
  bufferSegments: { kind: 'integer', max: BUFFER_SEGMENTS_MAX, removable: false },
  maxDeliveries: { kind: 'integer', max: MAX_DELIVERIES_MAX, removable: true },
  capacity: { kind: 'integer', max: ROOM_UNLIMITED / 1000, removable: true },
  pushLimit: { kind: 'limit', removable: true },
  popLimit: { kind: 'limit', removable: true },
} as const

export type ConfigurationName = keyof typeof configurationFields
export const configurationNames = /* @__PURE__ */ Object.keys(
  configurationFields,
) as readonly ConfigurationName[]

export function changeConfiguration(
  current: Configuration,
  change: ConfigurationChange,
): Configuration {
  const next: Record<string, unknown> = { ...current, revision: current.revision + 1 }
  for (const name of configurationNames) {
    const field = configurationFields[name]
    const value: unknown = change[name]
    if (value === undefined) continue
    if (value === null && field.removable) delete next[name]
    else if (field.kind === 'limit') next[name] = limitFrom(snakeCase(name), value as LimitInput)
    else next[name] = integerFrom(snakeCase(name), value, field.max)
  }
  return next as unknown as Configuration
}

function integerFrom(field: string, value: unknown, max: number): number {
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= max) return Number(value)
  throw invalid(
    field,
    `Cannot set ${field} to ${value} because it must be an integer from 1 to ${max}`,
  )
}

/** A limit whole and checked. */
function limitFrom(field: string, input: LimitInput): GuardLimit {
  if (typeof input !== 'object') {
    throw invalid(field, `Cannot set ${field} to ${input} because it must be an object or null`)
  }
  const names: readonly string[] = guardNames
  const foreign = Object.keys(input).find((name) => !names.includes(name))
  if (foreign !== undefined) {
    throw invalid(`${field}.${snakeCase(foreign)}`, `A ${field} has no ${snakeCase(foreign)}`)
  }
  if (input.maxRequests === undefined) {
    throw invalid(`${field}.max_requests`, `A ${field} must say how many max_requests`)
  }
  try {
    const { maxRequests, windowMillis, algorithm, burst } = settingsFrom(input)
    return { maxRequests, windowMillis, algorithm, burst }
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    throw invalid(`${field}.${snakeCase(error.field ?? '')}`, `In ${field}: ${error.message}`)
  }
}

const invalid = (field: string, message: string): QueueError =>
  new QueueError('INVALID_PARAMETER', message, { field })

export const isLimited = ({ pushLimit, popLimit }: Configuration): boolean =>
  pushLimit !== undefined || popLimit !== undefined

/** What `room` starts from, or changes by, under a configuration. */
export const roomOf = (configuration: Configuration): number =>
  configuration.capacity ?? ROOM_UNLIMITED
