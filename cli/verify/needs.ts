// The queues of a run have the settings of their prefix, which are the operator's. They may rule out what a step does:
// then we skip it, because the service is right to do something else.

import type { Configuration } from '../../client/index.ts'

/** What a step needs of the settings of its queue. */
export type Needs = {
  /** So many items are in it at a time. */
  readonly items?: number
  /** Items come back once, and must be there again. */
  readonly returns?: true
  /** So many items are enough for some of them to go to S3. */
  readonly offloads?: number
}

/** Most steps push a few items. */
const ITEMS = 10
/** A run takes no longer, so nothing of it expires. */
const SECONDS = 300
/** With fewer calls a second, a run would be over before its steps. */
const CALLS_A_SECOND = 1

/** Why a step with these needs cannot be tried, or nothing. */
export function ruledOutBy(settings: Configuration, needs: Needs): string | undefined {
  const { items = ITEMS, returns = false, offloads } = needs
  const { capacity, maxDeliveries, itemTtlSeconds, segmentSize, bufferSegments } = settings
  const because = (what: string, why: string) => `${ofPrefix(settings)} has ${what}: ${why}`
  if (capacity !== undefined && capacity < items) {
    return because(`a capacity of ${capacity}`, `this pushes ${items} items`)
  }
  if (returns && maxDeliveries === 1) {
    return because('max_deliveries of 1', 'no item comes back')
  }
  if (itemTtlSeconds !== undefined && itemTtlSeconds < SECONDS) {
    return because(`item_ttl_seconds of ${itemTtlSeconds}`, 'items may expire meanwhile')
  }
  if (offloads !== undefined && (bufferSegments + 2) * segmentSize > offloads) {
    const sizes = `segment_size ${segmentSize} and buffer_segments ${bufferSegments}`
    return because(sizes, `${offloads} items may be too few for S3`)
  }
  const slow = slowLimitOf(settings)
  return slow && because(`a ${slow} of less than one call a second`, 'that takes too long')
}

function slowLimitOf({ pushLimit, popLimit }: Configuration): string | undefined {
  const isSlow = (limit: Configuration['pushLimit']): boolean =>
    limit !== undefined && (limit.maxRequests * 1_000) / limit.windowMillis < CALLS_A_SECOND
  if (isSlow(pushLimit)) return 'push_limit'
  return isSlow(popLimit) ? 'pop_limit' : undefined
}

export const isLimited = ({ pushLimit, popLimit }: Configuration): boolean =>
  pushLimit !== undefined || popLimit !== undefined

/** `the prefix ""`, whose settings a queue of the run has. */
export const ofPrefix = ({ source }: Configuration): string =>
  source.from === 'pattern' ? `the prefix ${JSON.stringify(source.prefix)}` : 'the service'
