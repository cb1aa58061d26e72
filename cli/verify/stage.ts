// The tools of a check: queues that belong to the run, calls that are counted, and waits that end.

import { setTimeout as delay } from 'node:timers/promises'
import type { Auth } from '../../client/auth.ts'
import { connect } from '../../client/connect.ts'
import { type Client, createClient, type Json, type Queue } from '../../client/index.ts'
import type { Send } from '../../client/transport.ts'
import { Broken, Skipped } from './claims.ts'
import type { Estate } from './estate.ts'
import { type Call, meteredFetch } from './meter.ts'
import { type Needs, ruledOutBy } from './needs.ts'

export type Stage = {
  readonly client: Client
  /**
   * A queue that nobody has used; the runner empties it at the end. If the settings of its prefix rule out what the step
   * needs, the step is skipped.
   */
  queue<T = Json>(needs?: Needs): Queue<T>
  /** The queue that its dead letters go to; the runner empties that as well. */
  deadLettersOf(queue: Queue): Queue
  /** The same queue without the client's retries, for a refusal that is expected. */
  once<T>(queue: Queue<T>): Queue<T>
  /** A queue whose settings the work may change. They are put back afterwards, and it is emptied. */
  withSettings(work: (queue: Queue) => Promise<void>): Promise<void>
  /** The same for limits, on another queue: functions remember a limit for seconds after its removal. */
  withLimits(work: (queue: Queue) => Promise<void>): Promise<void>
  /** A rate limit's key that nobody has used. */
  rateKey(): string
  /** Sends any request, once; and the same without credentials. */
  readonly send: Send
  readonly sendUnsigned: Send
  readonly signs: boolean
  /** How many producers and consumers may call at once. */
  readonly atOnce: number
  /** How long the sweeper may take to end an expired lock. */
  readonly sweeperWithinMs: number
  pause(ms: number): Promise<void>
  /** Looks until it is so, or fails as broken. `what` continues "waiting for …". */
  until(what: string, look: () => Promise<boolean>, atMostMs?: number): Promise<void>
  /** Notes a setting of the service for the report. */
  saw(setting: string, value: string): void
}

type StageSettings = {
  readonly check: string
  readonly url: string
  readonly auth: Auth
  readonly estate: Estate
  readonly pass: <R>(work: () => Promise<R>) => Promise<R>
  readonly halt: AbortSignal
  readonly atOnce: number
  readonly sweeperWithinMs: number
  readonly onCall: (call: Call) => void
  readonly onWait: (sentence: string) => void
  readonly onSeen: (setting: string, value: string) => void
}

/** Housekeeping comes within seconds; the rest is for a stream that lags. */
const WAIT_MS = 60_000
const LOOK_FIRST_MS = 100
const LOOK_EVERY_MS_MAX = 2_000

export function makeStage(settings: StageSettings): Stage {
  const { url, auth, estate, halt, atOnce, sweeperWithinMs, onWait } = settings
  const meter = { ...settings, base: new URL(url) }
  // Called before each retry: none is sent when nobody waits for it any more.
  const onRetry = () => halt.throwIfAborted()
  const common = { url, auth, fetch: meteredFetch(meter) }
  const client = createClient({ ...common, retry: { onRetry } })
  const onceClient = createClient({ ...common, retry: { attemptsMax: 1 } })
  const pause = (ms: number) => delay(ms, undefined, { signal: halt })
  return {
    client,
    queue<T>(needs: Needs = {}) {
      const why = ruledOutBy(estate.settings, needs)
      if (why !== undefined) throw new Skipped(why)
      return client.queue<T>(estate.newQueue(settings.check))
    },
    deadLettersOf: ({ id }) => client.queue(estate.deadLettersOf(id)),
    once: <T>({ id }: Queue<T>) => onceClient.queue<T>(id),
    withSettings: (work) => estate.withKept('settings', (id) => work(client.queue(id))),
    withLimits: (work) => estate.withKept('limits', (id) => work(client.queue(id))),
    rateKey: () => estate.newName(settings.check),
    send: connect({ ...common, retry: { attemptsMax: 1 } }).send,
    sendUnsigned: connect({ ...common, auth: { kind: 'none' }, retry: { attemptsMax: 1 } }).send,
    signs: auth.kind !== 'none',
    atOnce,
    sweeperWithinMs,
    pause,
    saw: settings.onSeen,
    async until(what, look, atMostMs = WAIT_MS) {
      const startedMs = performance.now()
      const most = `${Math.round(atMostMs / 1_000)} s`
      let pauseMs = LOOK_FIRST_MS
      while (!(await look())) {
        const waitedMs = performance.now() - startedMs
        if (waitedMs > atMostMs) throw new Broken(`waited ${most} for ${what}, in vain`)
        onWait(`waiting for ${what} (${Math.floor(waitedMs / 1_000)} of ${most})`)
        await pause(pauseMs)
        pauseMs = Math.min(pauseMs * 1.5, LOOK_EVERY_MS_MAX)
      }
    },
  }
}
