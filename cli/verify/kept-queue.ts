// The queues that checks may configure.
//
// The service forgets an empty queue after ten minutes, but never a configured one, even with its
// defaults restored: its revision must not start again. So checks that change settings take turns on one
// queue, checks that change limits on another, and the next run uses the same two: a pair, by their names.
//
// A run that has a pair says so, and since when, in the capacity of the queue for limits, which no check
// changes. A run that was killed never gives its pair back; an hour later another run takes it over. So two
// empty records of some 300 bytes stay, and two more for each run that met another, or was killed less than
// an hour before. They too are used again.

import {
  type Client,
  type Configuration,
  type ConfigurationChange,
  isPushPopError,
} from '../../client/index.ts'
import { deadLetterQueueOf, PREFIX, randomName } from './names.ts'

export type KeptKind = 'settings' | 'limits'

export type KeptPair = {
  readonly ids: Readonly<Record<KeptKind, string>>
  /** When it was taken, in seconds: the capacity that says so. No check pushes as many items. */
  readonly takenAt: number
}

const prefixOf = (kind: KeptKind): string => `${PREFIX}${kind}-`

const pairNamed = (name: string): KeptPair['ids'] => ({
  settings: prefixOf('settings') + name,
  limits: prefixOf('limits') + name,
})

/**
 * A run ends after five minutes and a minute of cleaning up. The rest is for two machines' clocks, each of
 * which may be fifteen minutes wrong before AWS refuses its signatures.
 */
const TAKEN_SECONDS_MAX = 3_600

/** Several exist only if runs overlapped or were killed. */
const LOOKED_AT_MAX = 5

/** Takes a pair that no run has at the moment. The revision decides, so two runs never take the same. */
export async function takeKeptPair(
  client: Client,
  defaults: Configuration,
  nowMs = Date.now(),
): Promise<KeptPair> {
  const takenAt = Math.floor(nowMs / 1_000)
  let looked = 0
  for await (const { id } of client.queues({ prefix: prefixOf('limits') })) {
    if (id.endsWith('-deadletter')) continue
    looked += 1
    if (looked > LOOKED_AT_MAX) break
    const pair = { ids: pairNamed(id.slice(prefixOf('limits').length)), takenAt }
    if (await take(client, pair, defaults)) return pair
  }
  const pair = { ids: pairNamed(randomName()), takenAt }
  await client.queue(pair.ids.limits).configure(settingsOf(pair, 'limits', defaults))
  return pair
}

async function take(client: Client, pair: KeptPair, defaults: Configuration): Promise<boolean> {
  const { ids, takenAt } = pair
  const limits = client.queue(ids.limits)
  // Settings and tag of one read: a tag read later could belong to the settings of another run.
  const { etag = '', capacity } = await limits.configuration()
  // Do not compare `capacity < takenAt`: the number may come from a machine whose clock is ahead.
  const isTaken = capacity !== undefined && Math.abs(takenAt - capacity) <= TAKEN_SECONDS_MAX
  if (isTaken) return false
  const wasLeft = capacity !== undefined
  // Runs empty the queues that they give back, so these items are somebody else's.
  if (!wasLeft && (await holdsItems(client, Object.values(ids)))) return false
  try {
    // Set all of them again, and do not compare with the defaults, which change with the service's version.
    await limits.configure(settingsOf(pair, 'limits', defaults), { ifMatch: etag })
  } catch (error) {
    if (isPushPopError(error, 'VERSION_MISMATCH')) return false
    throw error
  }
  if (wasLeft) await empty(client, Object.values(ids))
  await resetKeptQueue(client, pair, 'settings', defaults)
  return true
}

async function holdsItems(client: Client, ids: readonly string[]): Promise<boolean> {
  for (const id of ids) {
    if ((await client.queue(id).inspect({ consistent: true })).count > 0) return true
  }
  return false
}

async function empty(client: Client, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await client.queue(id).purge()
    await client.queue(deadLetterQueueOf(id)).purge()
  }
}

/** Puts a queue back to how it was taken, for the next check. */
export const resetKeptQueue = (
  client: Client,
  pair: KeptPair,
  kind: KeptKind,
  defaults: Configuration,
) => client.queue(pair.ids[kind]).configure(settingsOf(pair, kind, defaults))

/** Leaves both to the next run; unless another has taken them over, because this one slept for an hour. */
export async function giveBackKeptPair(
  client: Client,
  { ids, takenAt }: KeptPair,
  defaults: Configuration,
): Promise<void> {
  const limits = client.queue(ids.limits)
  const { etag = '', capacity } = await limits.configuration()
  if (capacity !== takenAt) return
  await limits.configure(allOf(defaults), { ifMatch: etag })
}

const settingsOf = (
  { takenAt }: KeptPair,
  kind: KeptKind,
  defaults: Configuration,
): ConfigurationChange => ({
  ...allOf(defaults),
  ...(kind === 'limits' && { capacity: takenAt }),
})

/** Names every setting, because one that is left out keeps its value. */
const allOf = (configuration: Configuration): ConfigurationChange => ({
  segmentSize: configuration.segmentSize,
  bufferSegments: configuration.bufferSegments,
  maxDeliveries: configuration.maxDeliveries ?? null,
  capacity: configuration.capacity ?? null,
  itemTtlSeconds: configuration.itemTtlSeconds ?? null,
  expired: configuration.expired ?? null,
  pushLimit: configuration.pushLimit ?? null,
  popLimit: configuration.popLimit ?? null,
})
