// What a check is, and the tools of its steps: queues that belong to the run, calls that are counted, and waits that
// end.
//
// The queues of a run have the settings of their prefix, which are the operator's. They may rule out what a step does:
// then we skip it, because the service is right to do something else.

import { setTimeout as delay } from 'node:timers/promises'
import type { Auth } from '../../client/auth.ts'
import { connect } from '../../client/connect.ts'
import {
  type Client,
  type Configuration,
  createClient,
  type Json,
  type Queue,
} from '../../client/index.ts'
import type { Send } from '../../client/transport.ts'
import { Broken, Skipped } from './claims.ts'
import type { Estate } from './estate.ts'
import { type Call, meteredFetch } from './meter.ts'

/** One promise of the README, and the sentences that spell it out. */
export type Check = {
  /** For `--only`, and in the names of the queues that it uses. */
  readonly name: string
  readonly promise: string
  /** Sentences, each with the way to try it. They run in order, and a failed one does not stop the next. */
  readonly steps: Readonly<Record<string, (stage: Stage) => Promise<void>>>
  /** This check waits for the service's schedule or stream, so the runner starts it first. */
  readonly waits?: true
}

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
  readonly fetch?: typeof fetch | undefined
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
