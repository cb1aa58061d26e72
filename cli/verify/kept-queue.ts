// The queues that checks may configure.
//
// The service forgets an empty queue after ten minutes, but never a configured one, even with its
// defaults restored: its revision must not start again. So checks that change settings take turns on one
// queue, checks that change limits on another, and the next run uses the same two. However often a
// deployment is verified, two empty records of some 300 bytes stay.

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

/** There are several only if runs overlapped, or were killed. */
const LOOKED_AT_MAX = 5

/** Takes a queue that no run has at the moment. Its revision decides, so two runs never take the same. */
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
    // Settings and tag of one read: a tag read later could belong to the settings of another run.
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

/** Puts it back to how it was taken, for the next check. */
export const resetKeptQueue = (client: Client, id: string, defaults: Configuration) =>
  client.queue(id).configure({ ...allOf(defaults), ...TAKEN })

/** Leaves it to the next run. */
export const giveBackKeptQueue = (client: Client, id: string, defaults: Configuration) =>
  client.queue(id).configure(allOf(defaults))

/** Names every setting, because one that is left out keeps its value. */
const allOf = (configuration: Configuration): ConfigurationChange => ({
  segmentSize: configuration.segmentSize,
  bufferSegments: configuration.bufferSegments,
  maxDeliveries: configuration.maxDeliveries ?? null,
  capacity: configuration.capacity ?? null,
  pushLimit: configuration.pushLimit ?? null,
  popLimit: configuration.popLimit ?? null,
})
