import { QueueError } from './errors.ts'
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
}

/** `null` takes a setting away; what is absent stays. */
export type ConfigurationChange = {
  readonly segmentSize?: number
  readonly bufferSegments?: number
  readonly maxDeliveries?: number | null
  readonly capacity?: number | null
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

export function changeConfiguration(
  current: Configuration,
  change: ConfigurationChange,
): Configuration {
  const next: Record<string, number> = { ...current, revision: current.revision + 1 }
  for (const [name, { field, min, max, removable }] of Object.entries(settings)) {
    const value = change[name as keyof ConfigurationChange]
    if (value === undefined) continue
    if (value === null && removable) {
      delete next[name]
      continue
    }
    if (value === null || !Number.isInteger(value) || value < min || value > max) {
      throw new QueueError(
        'INVALID_PARAMETER',
        `Cannot set ${field} to ${value} because it must be an integer from ${min} to ${max}`,
        { field },
      )
    }
    next[name] = value
  }
  return next as unknown as Configuration
}

/** What `room` starts from, or changes by, under a configuration. */
export const roomOf = (configuration: Configuration): number =>
  configuration.capacity ?? ROOM_UNLIMITED
