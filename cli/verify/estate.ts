// The queues of a run: their names, and how the run leaves them.

import { setTimeout as delay } from 'node:timers/promises'
import type { Client, Configuration } from '../../client/index.ts'
import { messageOf } from '../failure.ts'
import {
  giveBackKeptPair,
  type KeptKind,
  type KeptPair,
  resetKeptQueue,
  takeKeptPair,
} from './kept-queue.ts'
import { deadLetterQueueOf, PREFIX, randomName } from './names.ts'
import { turnstile } from './turnstile.ts'

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
