import type { GuardLimit } from '../../rate/core/setting-fields.ts'
import type { Configuration, Source } from './configuration.ts'

/** [requests, window], and the burst of a smooth limit. */
type StoredLimit = [number, number] | [number, number, number]

export type StoredConfiguration = {
  v: number
  z: number
  b: number
  m?: number
  c?: number
  t?: number
  /** 1: expired items become dead letters; 0: the queue's own settings say that they do not. */
  x?: 0 | 1
  pl?: StoredLimit
  ol?: StoredLimit
  /** Where it comes from: `p` and the prefix, or `d`; absent if it is the queue's own. */
  s?: string
  /** The revision of the patterns that last gave the queue its settings. */
  r?: number
}

export function decodeConfiguration(stored: StoredConfiguration): Configuration {
  return {
    revision: stored.v,
    source: decodeSource(stored.s),
    segmentSize: stored.z,
    bufferSegments: stored.b,
    ...(stored.m !== undefined && { maxDeliveries: stored.m }),
    ...(stored.c !== undefined && { capacity: stored.c }),
    ...(stored.t !== undefined && { itemTtlSeconds: stored.t }),
    ...(stored.x !== undefined && { expired: stored.x === 1 ? 'dead_letter' : 'discard' }),
    ...(stored.pl !== undefined && { pushLimit: decodeLimit(stored.pl) }),
    ...(stored.ol !== undefined && { popLimit: decodeLimit(stored.ol) }),
    ...(stored.r !== undefined && { patternsRevision: stored.r }),
  }
}

export function encodeConfiguration(configuration: Configuration): StoredConfiguration {
  return {
    v: configuration.revision,
    z: configuration.segmentSize,
    b: configuration.bufferSegments,
    ...(configuration.maxDeliveries !== undefined && { m: configuration.maxDeliveries }),
    ...(configuration.capacity !== undefined && { c: configuration.capacity }),
    ...(configuration.itemTtlSeconds !== undefined && { t: configuration.itemTtlSeconds }),
    ...(configuration.expired !== undefined && {
      x: configuration.expired === 'dead_letter' ? 1 : 0,
    }),
    ...(configuration.pushLimit !== undefined && { pl: encodeLimit(configuration.pushLimit) }),
    ...(configuration.popLimit !== undefined && { ol: encodeLimit(configuration.popLimit) }),
    ...encodeSource(configuration.source),
    ...(configuration.patternsRevision !== undefined && { r: configuration.patternsRevision }),
  }
}

const decodeSource = (stored: string | undefined): Source => {
  if (stored === undefined) return { from: 'queue' }
  return stored === 'd' ? { from: 'default' } : { from: 'pattern', prefix: stored.slice(1) }
}

function encodeSource(source: Source): Pick<StoredConfiguration, 's'> {
  if (source.from === 'queue') return {}
  return { s: source.from === 'default' ? 'd' : `p${source.prefix}` }
}

const decodeLimit = ([maxRequests, windowMillis, burst]: StoredLimit): GuardLimit => ({
  maxRequests,
  windowMillis,
  algorithm: burst === undefined ? 'window' : 'smooth',
  burst: burst ?? 1,
})

export const encodeLimit = (limit: GuardLimit): StoredLimit =>
  limit.algorithm === 'smooth'
    ? [limit.maxRequests, limit.windowMillis, limit.burst]
    : [limit.maxRequests, limit.windowMillis]
