import type { Configuration } from '../../engine/core/configuration.ts'
import { type Answer, ok } from '../answer.ts'

/** Every setting, `null` where there is none: what a GET gives, a PUT takes back. */
export const configurationBody = (configuration: Configuration) => ({
  segment_size: configuration.segmentSize,
  buffer_segments: configuration.bufferSegments,
  max_deliveries: configuration.maxDeliveries ?? null,
  capacity: configuration.capacity ?? null,
  push_limit: limitBody(configuration.pushLimit),
  pop_limit: limitBody(configuration.popLimit),
})

const limitBody = (limit: Configuration['pushLimit']) =>
  limit === undefined
    ? null
    : {
        max_requests: limit.maxRequests,
        window_millis: limit.windowMillis,
        algorithm: limit.algorithm,
        burst: limit.burst,
      }

export const configurationAnswer = (configuration: Configuration): Answer =>
  ok(configurationBody(configuration), { etag: `"${configuration.revision}"` })
