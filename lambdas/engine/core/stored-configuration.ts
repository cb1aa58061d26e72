import type { GuardLimit } from '../../rate/core/setting-fields.ts'
import type { Configuration } from './configuration.ts'

/** [requests, window], and of a smooth one its burst. */
type StoredLimit = [number, number] | [number, number, number]

export type StoredConfiguration = {
  v: number
  z: number
  b: number
  m?: number
  c?: number
  pl?: StoredLimit
  ol?: StoredLimit
}

export function decodeConfiguration(stored: StoredConfiguration): Configuration {
  return {
    revision: stored.v,
    segmentSize: stored.z,
    bufferSegments: stored.b,
    ...(stored.m !== undefined && { maxDeliveries: stored.m }),
    ...(stored.c !== undefined && { capacity: stored.c }),
    ...(stored.pl !== undefined && { pushLimit: decodeLimit(stored.pl) }),
    ...(stored.ol !== undefined && { popLimit: decodeLimit(stored.ol) }),
  }
}

export function encodeConfiguration(configuration: Configuration): StoredConfiguration {
  return {
    v: configuration.revision,
    z: configuration.segmentSize,
    b: configuration.bufferSegments,
    ...(configuration.maxDeliveries !== undefined && { m: configuration.maxDeliveries }),
    ...(configuration.capacity !== undefined && { c: configuration.capacity }),
    ...(configuration.pushLimit !== undefined && { pl: encodeLimit(configuration.pushLimit) }),
    ...(configuration.popLimit !== undefined && { ol: encodeLimit(configuration.popLimit) }),
  }
}

const decodeLimit = ([maxRequests, windowMillis, burst]: StoredLimit): GuardLimit => ({
  maxRequests,
  windowMillis,
  algorithm: burst === undefined ? 'window' : 'smooth',
  burst: burst ?? 1,
})

const encodeLimit = (limit: GuardLimit): StoredLimit =>
  limit.algorithm === 'smooth'
    ? [limit.maxRequests, limit.windowMillis, limit.burst]
    : [limit.maxRequests, limit.windowMillis]
