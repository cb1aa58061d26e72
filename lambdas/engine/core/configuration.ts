import { QueueError } from '../../foundation/errors.ts'
import type { GuardLimit } from '../../rate/core/guard-limit.ts'
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
  readonly segmentSize?: number
  readonly bufferSegments?: number
  readonly maxDeliveries?: number | null
  readonly capacity?: number | null
  readonly pushLimit?: LimitInput | null
  readonly popLimit?: LimitInput | null
}

export const defaultConfiguration: Configuration = {
  revision: 0,
  segmentSize: SEGMENT_SIZE_DEFAULT,
  bufferSegments: BUFFER_SEGMENTS_DEFAULT,
}

const settings = {
  segmentSize: { field: 'segment_size', min: 1, max: SEGMENT_SIZE_MAX, removable: false },
  bufferSegments: { field: 'buffer_segments', min: 1, max: BUFFER_SEGMENTS_MAX, removable: false },
  maxDeliveries: { field: 'max_deliveries', min: 1, max: MAX_DELIVERIES_MAX, removable: true },
  capacity: { field: 'capacity', min: 1, max: ROOM_UNLIMITED / 1000, removable: true },
} as const

const limits = { pushLimit: 'push_limit', popLimit: 'pop_limit' } as const

export function changeConfiguration(
  current: Configuration,
  change: ConfigurationChange,
): Configuration {
  const next: Record<string, unknown> = { ...current, revision: current.revision + 1 }
  for (const [name, { field, min, max, removable }] of Object.entries(settings)) {
    const value = change[name as keyof typeof settings]
    if (value === undefined) continue
    if (value === null && removable) {
      delete next[name]
      continue
    }
    if (value === null || !Number.isInteger(value) || value < min || value > max) {
      throw invalid(
        field,
        `Cannot set ${field} to ${value} because it must be an integer from ${min} to ${max}`,
      )
    }
    next[name] = value
  }
  for (const [name, field] of Object.entries(limits)) {
    const value = change[name as keyof typeof limits]
    if (value === null) delete next[name]
    else if (value !== undefined) next[name] = limitFrom(field, value)
  }
  return next as unknown as Configuration
}

/** A limit whole and checked. */
function limitFrom(field: string, input: LimitInput): GuardLimit {
  if (typeof input !== 'object') {
    throw invalid(field, `Cannot set ${field} to ${input} because it must be an object or null`)
  }
  const foreign = Object.keys(input).find((name) => !limitNames.has(name))
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

const limitNames: ReadonlySet<string> = new Set<keyof GuardLimit>([
  'maxRequests',
  'windowMillis',
  'algorithm',
  'burst',
])

const invalid = (field: string, message: string): QueueError =>
  new QueueError('INVALID_PARAMETER', message, { field })

const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export const isLimited = ({ pushLimit, popLimit }: Configuration): boolean =>
  pushLimit !== undefined || popLimit !== undefined

/** What `room` starts from, or changes by, under a configuration. */
export const roomOf = (configuration: Configuration): number =>
  configuration.capacity ?? ROOM_UNLIMITED
