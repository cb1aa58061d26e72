// The queues of a run: their names, and how the run leaves them.

import { setTimeout as delay } from 'node:timers/promises'
import type { Client, Configuration } from '../../client/index.ts'
import { messageOf } from '../failure.ts'
import { giveBackKeptQueue, type KeptKind, resetKeptQueue, takeKeptQueue } from './kept-queue.ts'
import { deadLetterQueueOf, PREFIX, randomName } from './names.ts'
import { turnstile } from './turnstile.ts'

export type Estate = {
  /** The beginning of all names of this run, except those of kept queues. */
  readonly prefix: string
  newName(check: string): string
  newQueue(check: string): string
  deadLettersOf(queue: string): string
  /** Gives the work a queue that it may configure; one work at a time. */
  withKept(kind: KeptKind, work: (id: string) => Promise<void>): Promise<void>
  /** Empties the queues of a check. */
  clear(check: string): Promise<void>
  /** Gives the kept queues back; called once, at the end. */
  close(): Promise<void>
  /** The kept queues that were used. */
  kept(): readonly string[]
  /** Queues that could not be emptied or given back, each with the reason. */
  readonly leftBehind: readonly string[]
}

export type EstateSettings = {
  readonly defaults: Configuration
  /** A client that outlives checks and Ctrl-C, until the signal that it is given. */
  readonly cleanerUntil: (halt: AbortSignal) => Client
}

/** A purge takes milliseconds. If the service no longer answers, cleaning up ends after this long. */
const CLEANING_MS = 20_000
const CLEANING_TRIES = 3
const LOOK_EVERY_MS = 200

export function makeEstate({ defaults, cleanerUntil }: EstateSettings): Estate {
  const prefix = `${PREFIX}${randomName()}-`
  const queues = new Map<string, string[]>()
  const withDeadLetters = new Set<string>()
  const leftBehind: string[] = []
  const turns = { settings: turnstile(1), limits: turnstile(1) }
  const kept = new Map<KeptKind, string>()
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

  async function empty(client: Client, id: string): Promise<void> {
    await client.queue(id).purge()
    if (!withDeadLetters.has(id)) return
    // A purge leaves dead items, which are still to be moved. The client's signal bounds this wait.
    while ((await client.queue(id).inspect({ consistent: true })).deadCount > 0) {
      await delay(LOOK_EVERY_MS)
    }
    await client.queue(deadLetterQueueOf(id)).purge()
    withDeadLetters.delete(id)
  }

  return {
    prefix,
    newName,
    leftBehind,
    kept: () => [...kept.values()],
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
        const id = kept.get(kind) ?? (await takeKeptQueue(cleaner(), kind, defaults))
        kept.set(kind, id)
        try {
          await work(id)
        } finally {
          const client = cleaner()
          const isAsBefore = await cleaned(id, async () => {
            await empty(client, id)
            await resetKeptQueue(client, id, defaults)
          })
          if (!isAsBefore) kept.delete(kind)
        }
      }),
    async clear(check) {
      const client = cleaner()
      const ids = queues.get(check) ?? []
      queues.delete(check)
      await Promise.all(ids.map((id) => cleaned(id, () => empty(client, id))))
    },
    async close() {
      const client = cleaner()
      for (const id of kept.values()) {
        await cleaned(id, () => giveBackKeptQueue(client, id, defaults))
      }
    },
  }
}
