// The queues whose settings are changed.
//
// The service forgets an empty queue after ten minutes, but never one that was configured, not even
// when it has its defaults again: its revision must not begin anew. So the checks that change settings
// take turns on one queue, those that change limits on another, and the next run takes the same ones
// again. However often a deployment is verified, what stays is two empty records of some 300 bytes.

import { isDeepStrictEqual } from 'node:util'
import {
  type Client,
  type Configuration,
  type ConfigurationChange,
  isPushPopError,
} from '../../client/index.ts'
import { PREFIX, randomName } from './names.ts'

export type KeptKind = 'settings' | 'limits'

const prefixOf = (kind: KeptKind): string => `${PREFIX}${kind}-`

/** Its settings while a run has it. No check pushes as many items as that. */
const TAKEN: ConfigurationChange = { capacity: 999_999 }

/** There is more than one only where runs met, or were killed. */
const LOOKED_AT_MAX = 5

/**
 * One that no run has at the moment: its revision decides, so two runs never take the same. `defaults`
 * are without a tag.
 */
export async function takeKeptQueue(
  client: Client,
  kind: KeptKind,
  defaults: Configuration,
): Promise<string> {
  let looked = 0
  for await (const { id } of client.queues({ prefix: prefixOf(kind) })) {
    if (id.endsWith('-deadletter')) continue
    looked += 1
    if (looked > LOOKED_AT_MAX) break
    // The tag of these very settings: a later one could be that of another run's.
    const { etag = '', ...settings } = await client.queue(id).configuration()
    const { count } = await client.queue(id).inspect({ consistent: true })
    if (count > 0 || !isDeepStrictEqual(settings, defaults)) continue
    try {
      await client.queue(id).configure(TAKEN, { ifMatch: etag })
      return id
    } catch (error) {
      if (!isPushPopError(error, 'VERSION_MISMATCH')) throw error
    }
  }
  const id = prefixOf(kind) + randomName()
  await client.queue(id).configure(TAKEN)
  return id
}

/** As it was taken, for the next check. */
export const resetKeptQueue = (client: Client, id: string, defaults: Configuration) =>
  client.queue(id).configure({ ...allOf(defaults), ...TAKEN })

/** Free for the next run. */
export const giveBackKeptQueue = (client: Client, id: string, defaults: Configuration) =>
  client.queue(id).configure(allOf(defaults))

/** Each setting by name, for one that is left out stays as it is. */
const allOf = (configuration: Configuration): ConfigurationChange => ({
  segmentSize: configuration.segmentSize,
  bufferSegments: configuration.bufferSegments,
  maxDeliveries: configuration.maxDeliveries ?? null,
  capacity: configuration.capacity ?? null,
  pushLimit: configuration.pushLimit ?? null,
  popLimit: configuration.popLimit ?? null,
})
