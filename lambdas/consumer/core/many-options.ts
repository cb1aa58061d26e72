import {
  ITEMS_PER_POP_MAX,
  LOCK_TTL_SECONDS_DEFAULT,
  LOCK_TTL_SECONDS_MAX,
  MAX_DELIVERIES_MAX,
} from '../../foundation/shared/bounds.ts'
import { ID_RULE, isQueueId } from '../../foundation/shared/queue-id.ts'
import { type AgainOptions, retryOf } from './retry.ts'
import type { Settings } from './settings.ts'
import type { ManyTrouble } from './trouble.ts'

/** Either all queues with a prefix, including later ones but not dead-letter queues; or exactly these queues. */
export type Which = { readonly prefix: string } | { readonly queues: readonly string[] }

export type ManyOptions = {
  /** How many queues to work at once: 1–1,000. Default 10. */
  readonly queuesAtOnce?: number | undefined
  /** The most items of a queue that the handler gets at once: 1–100. Default 1. */
  readonly batchSize?: number | undefined
  /** How long a lock lives if this process dies: 5–300. We extend it while the handler works. Default 30. */
  readonly lockTtlSeconds?: number | undefined
  /** Dead-letter an item after this many failures. Default: the queue's own `max_deliveries`. */
  readonly maxDeliveries?: number | undefined
  /** When failed items come again. Default: after 1, 2, 4 … seconds, up to five minutes. */
  readonly retry?: AgainOptions | undefined
  /** Share queues with other consumers. Default: one consumer at a time works a queue, in order. */
  readonly competing?: boolean | undefined
  /** Stops the work: takes nothing more, lets handlers finish, gives back the rest. */
  readonly signal?: AbortSignal | undefined
  /** How long handlers may go on after that. Default: as long as they like. */
  readonly graceMs?: number | undefined
  /** While all are idle: the longest pause before a new round of looks, from 500. Default 500. */
  readonly idleMsMax?: number | undefined
}

export type ConsumeManyOptions = ManyOptions & {
  /** Called for every failure; none of them ends the work. Default: writes a line to the console. */
  readonly onError?: ((failure: ManyTrouble) => void) | undefined
}

export type ManySettings = Settings & {
  readonly queuesAtOnce: number
  readonly idleMsMax: number
}

/**
 * We extend a lock when two fifths of its life are over. If it lives five seconds, three are left then: more than
 * a process has left when it stops extending, so no other consumer gets the items while the handler works.
 */
export const HELD_TTL_SECONDS_MIN = 5

const QUEUES_AT_ONCE_MAX = 1_000
/** Two looks a second, however many queues there are. */
export const LOOK_EVERY_MS = 500
const IDLE_MS_MAX = 60_000
/** A round looks at each of them once: 5 s if ids have up to 49 characters, 12 s with the longest. */
const NAMED_QUEUES_MAX = 1_000

export function manySettingsOf(options: ManyOptions): ManySettings {
  const { queuesAtOnce = 10, batchSize = 1, lockTtlSeconds = LOCK_TTL_SECONDS_DEFAULT } = options
  const { maxDeliveries, competing = false, idleMsMax = LOOK_EVERY_MS } = options
  return {
    queuesAtOnce: within('queuesAtOnce', queuesAtOnce, 1, QUEUES_AT_ONCE_MAX),
    batchSize: within('batchSize', batchSize, 1, ITEMS_PER_POP_MAX),
    lockTtlSeconds: within(
      'lockTtlSeconds',
      lockTtlSeconds,
      HELD_TTL_SECONDS_MIN,
      LOCK_TTL_SECONDS_MAX,
    ),
    deliveriesMax:
      maxDeliveries === undefined
        ? Number.POSITIVE_INFINITY
        : within('maxDeliveries', maxDeliveries, 1, MAX_DELIVERIES_MAX),
    retry: retryOf(options.retry),
    idleMsMax: within('idleMsMax', idleMsMax, LOOK_EVERY_MS, IDLE_MS_MAX),
    locks: 1,
    competing,
  }
}

export function checkWhich(which: Which): void {
  const { prefix, queues } = (which ?? {}) as {
    readonly prefix?: unknown
    readonly queues?: unknown
  }
  if (prefix !== undefined && queues === undefined) {
    if (typeof prefix === 'string') return
    throw new TypeError(`prefix must be the beginning of queue ids, and is ${prefix}`)
  }
  if (!Array.isArray(queues) || prefix !== undefined) {
    throw new TypeError('The first argument says which queues: { prefix } or { queues: [id, …] }')
  }
  if (queues.length === 0 || queues.length > NAMED_QUEUES_MAX) {
    throw new TypeError(`queues must be 1 to ${NAMED_QUEUES_MAX} queue ids`)
  }
  const wrong = queues.find((id) => !isQueueId(id))
  if (wrong !== undefined || queues.includes(undefined)) {
    throw new TypeError(`A queue id must be ${ID_RULE}; one of these is ${JSON.stringify(wrong)}`)
  }
}

export function within(name: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && min <= value && value <= max) return value
  throw new TypeError(
    `The consumer's ${name} must be an integer from ${min} to ${max}, and is ${value}`,
  )
}
