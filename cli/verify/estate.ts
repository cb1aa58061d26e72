// The queues of a run: their names, and how the run leaves them. New ones are emptied, and the service forgets them.
//
// It never forgets a configured queue, even with its defaults restored: its revision must not start again. So checks
// that change settings take turns on one queue, checks that change limits on another, and the next run uses the same
// two: a pair, by their names. A run that has a pair says so, and since when, in the capacity of the queue for limits,
// which no check changes; the revision decides between two runs. A run that was killed never gives its pair back; an
// hour later another run takes it over. So two empty records of some 300 bytes stay, and two more for each run that met
// another, or was killed less than an hour before. They too are used again.

import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Client,
  type Configuration,
  type ConfigurationChange,
  isPushPopError,
} from '../../client/index.ts'
import { messageOf } from '../failure.ts'

export type Estate = {
  /** The beginning of all names of this run, except those of kept queues. */
  readonly prefix: string
  /** What its new queues have: the defaults, or the settings of their prefix. */
  readonly settings: Configuration
  newName(check: string): string
  newQueue(check: string): string
  deadLettersOf(queue: string): string
  /** Gives the work a queue that it may configure; one work at a time. */
  withKept(kind: KeptKind, work: (id: string) => Promise<void>): Promise<void>
  /** Empties the queues of a check. */
  clear(check: string): Promise<void>
  /** Gives the kept queues back; called once, at the end. */
  close(): Promise<void>
  /** The queues that stay. */
  kept(): readonly string[]
  /** Queues that could not be emptied or given back, each with the reason. */
  readonly leftBehind: readonly string[]
}

type EstateSettings = {
  readonly settings: Configuration
  /** What the kept queues have when nobody works on them, whatever the settings of their prefix are. */
  readonly defaults: Configuration
  /** A client that outlives checks and Ctrl-C, until the signal that it is given. */
  readonly cleanerUntil: (halt: AbortSignal) => Client
}

/** A purge takes milliseconds. If the service no longer answers, cleaning up ends after this long. */
const CLEANING_MS = 20_000
const CLEANING_TRIES = 3
const LOOK_EVERY_MS = 200

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: what the checks share is here; each function is short
export function makeEstate({ settings, defaults, cleanerUntil }: EstateSettings): Estate {
  const prefix = `${PREFIX}${randomName()}-`
  const queues = new Map<string, string[]>()
  const withDeadLetters = new Set<string>()
  const leftBehind: string[] = []
  const turns = { settings: turnstile(1), limits: turnstile(1) }
  let pair: Promise<KeptPair> | undefined
  const kept = new Set<string>()
  let names = 0
  const newName = (check: string) => `${prefix}${check}-${++names}`
  const cleaner = () => cleanerUntil(AbortSignal.timeout(CLEANING_MS))

  async function cleaned(id: string, clean: () => Promise<unknown>): Promise<boolean> {
    for (let tries = 1; ; tries += 1) {
      try {
        await clean()
        return true
      } catch (error) {
        // After a lost answer the client does not purge again, because others may have pushed. Here we may.
        if (tries < CLEANING_TRIES) continue
        leftBehind.push(`${id} (${messageOf(error)})`)
        return false
      }
    }
  }

  /** One for both kinds, taken when the first check needs it. */
  function keptPair(): Promise<KeptPair> {
    if (pair !== undefined) return pair
    const taking = takeKeptPair(cleaner(), defaults)
    pair = taking
    // The next check that needs it tries again.
    taking.catch(() => {
      if (pair === taking) pair = undefined
    })
    return taking
  }

  async function empty(client: Client, id: string): Promise<void> {
    await client.queue(id).purge()
    if (!withDeadLetters.has(id)) return
    // A purge leaves dead items, which still have to move. The client's signal bounds this wait.
    while ((await client.queue(id).inspect({ consistent: true })).deadCount > 0) {
      await delay(LOOK_EVERY_MS)
    }
    await client.queue(deadLetterQueueOf(id)).purge()
    withDeadLetters.delete(id)
  }

  return {
    prefix,
    settings,
    newName,
    leftBehind,
    kept: () => [...kept],
    newQueue(check) {
      const id = newName(check)
      queues.set(check, [...(queues.get(check) ?? []), id])
      // By these settings an item whose lock ends may be dead-lettered.
      if (settings.maxDeliveries !== undefined) withDeadLetters.add(id)
      return id
    },
    deadLettersOf(queue) {
      withDeadLetters.add(queue)
      return deadLetterQueueOf(queue)
    },
    withKept: (kind, work) =>
      turns[kind](async () => {
        const taking = keptPair()
        const taken = await taking
        const id = taken.ids[kind]
        for (const each of Object.values(taken.ids)) kept.add(each)
        try {
          await work(id)
        } finally {
          const client = cleaner()
          const isAsBefore = await cleaned(id, async () => {
            await empty(client, id)
            await resetKeptQueue(client, taken, kind, defaults)
          })
          // Do not give it back: a later run empties it and takes it over.
          if (!isAsBefore && pair === taking) pair = undefined
        }
      }),
    async clear(check) {
      const client = cleaner()
      const ids = queues.get(check) ?? []
      queues.delete(check)
      await Promise.all(ids.map((id) => cleaned(id, () => empty(client, id))))
    },
    async close() {
      const taken = await pair?.catch(() => undefined)
      if (taken === undefined) return
      const client = cleaner()
      await cleaned(taken.ids.limits, () => giveBackKeptPair(client, taken, defaults))
    },
  }
}

type KeptKind = 'settings' | 'limits'

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
const resetKeptQueue = (client: Client, pair: KeptPair, kind: KeptKind, defaults: Configuration) =>
  client.queue(pair.ids[kind]).configure(settingsOf(pair, kind, defaults))

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

/** The beginning of every queue id that this command uses; it touches no others. */
export const PREFIX = 'pushpop-verify-'

const CHARACTERS = 6

/** One of two thousand million, so that two runs do not meet. */
export const randomName = (): string =>
  randomInt(36 ** CHARACTERS)
    .toString(36)
    .padStart(CHARACTERS, '0')

export const deadLetterQueueOf = (queue: string): string => `${queue}-deadletter`

/** Lets this many works run at once; the others wait in order of arrival. */
export function turnstile(atOnce: number): <R>(work: () => Promise<R>) => Promise<R> {
  let free = atOnce
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      // Handed over without a gap in which a third could slip in.
      if (next === undefined) free += 1
      else next()
    }
  }
}
