import type { Clock, Row } from '../../aws/dynamo.ts'
import { createRateLimits, type RateLimits } from '../../rate/rate-limits.ts'
import { seeded } from '../../testing/random.ts'
import { createSimulatedClient } from '../../testing/simulated/network.ts'
import { SimulatedStore } from '../../testing/simulated/store.ts'
import { ManualClock } from '../engine/manual-clock.ts'
import { type Steering, Wire } from '../engine/wire.ts'

/** A store with rate limiters on it that share nothing but the store, and a clock that tests move. */

export const secret = new TextEncoder().encode('a secret of sixteen bytes and more')

type Port = { send(command: never): Promise<unknown> }

export type LimitsOnWire = RateLimits & { readonly wire: Wire }

type ProcessOptions = Steering & {
  readonly clock?: Clock
  readonly secret?: Uint8Array
  readonly formerSecrets?: readonly Uint8Array[]
}

export class RateStage {
  readonly clock: ManualClock
  readonly tableName: string
  readonly #port: Port
  #processes = 0

  constructor(tableName: string, port: Port, clock = new ManualClock()) {
    this.tableName = tableName
    this.#port = port
    this.clock = clock
  }

  /** A process of its own: no memory in common with another. */
  process(options: ProcessOptions = {}): LimitsOnWire {
    const { clock = this.clock, formerSecrets, ...steering } = options
    const wire = new Wire(steering)
    this.#processes += 1
    const limits = createRateLimits({
      tableName: this.tableName,
      dynamodb: wire.through('dynamodb', this.#port),
      secret: options.secret ?? secret,
      formerSecrets,
      clock,
      random: seeded(this.#processes),
    })
    return Object.assign(limits, { wire })
  }
}

type SimulatedStage = RateStage & {
  readonly store: SimulatedStore
  row(key: string, shard?: number): Row | undefined
}

export function openSimulatedStage(): SimulatedStage {
  const clock = new ManualClock()
  const store = new SimulatedStore({ nowMs: () => clock.nowMs() })
  const { dynamodb } = createSimulatedClient(store)
  const stage = new RateStage(store.tableName, dynamodb as unknown as Port, clock)
  return Object.assign(stage, {
    store,
    row: (key: string, shard = 0) => store.item(`r#${key}#${shard}`, 'rate') as Row | undefined,
  })
}

/** The same, with what most tests want of it at hand. */
export function onRates() {
  const stage = openSimulatedStage()
  const { clock, store } = stage
  const process = (options?: ProcessOptions) => stage.process(options)
  return { clock, store, process, limits: process(), row: (key: string) => stage.row(key) }
}

/** What it decided, in one word, with what a table needs to tell apart. */
export async function kinds(
  count: number,
  decide: () => Promise<{ kind: string }>,
): Promise<string[]> {
  const told: string[] = []
  for (let i = 0; i < count; i += 1) told.push((await decide()).kind)
  return told
}

export const counted = (words: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1
  return counts
}
