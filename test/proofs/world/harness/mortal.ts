import type { Random } from '../../../../testing/random.ts'
import { readClock } from '../actors/callers/operation.ts'
import { Network } from './network.ts'
import type { Scheduler } from './scheduler.ts'
import { inLife, type Life, type World } from './world.ts'

export type MortalOptions = {
  readonly name: string
  readonly skewMaxMs: number
  /** Probability that the clock is set anew before a reading. */
  readonly clockJumps: number
}

export type Surroundings = {
  readonly life: Life
  readonly network: Network
  readonly clock: { nowMs(): number; sleep(ms: number, signal?: AbortSignal): Promise<void> }
  readonly random: Random
}

/** A process with a memory, a clock and randomness of its own; after a crash, a new one. */
export abstract class Mortal<Service> {
  readonly #world: World
  readonly #options: MortalOptions
  readonly #open: (surroundings: Surroundings) => Service
  readonly #random: Random
  #lives = 0
  #now: { readonly life: Life; readonly service: Service }
  onCrash: () => void = () => {}

  constructor(world: World, options: MortalOptions, open: (surroundings: Surroundings) => Service) {
    this.#world = world
    this.#options = options
    this.#open = open
    this.#random = world.random.fork()
    this.#now = this.#begin()
  }

  get life(): Life {
    return this.#now.life
  }

  get service(): Service {
    return this.#now.service
  }

  /** Its calls under way never end. */
  crash(): void {
    this.life.dead = true
    this.#now = this.#begin()
    this.onCrash()
  }

  #begin(): { life: Life; service: Service } {
    const { scheduler } = this.#world
    const { name } = this.#options
    this.#lives += 1
    const number = this.#lives === 1 ? '' : `.${this.#lives}`
    const life: Life = { name: `${name}${number}`, dead: false, pausedUntilMs: 0 }
    const network = new Network(this.#world, life, () => this.crash())
    const nowMs = skewedClock(scheduler, this.#options, this.#random.fork())
    const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        inLife(this.#world, life, scheduler.nowMs + ms, resolve)
        signal?.addEventListener('abort', () => resolve(), { once: true })
      })
    const random = this.#random.fork()
    return { life, service: this.#open({ life, network, clock: { nowMs, sleep }, random }) }
  }
}

export const SKEW_MAX_MS = 5_000

/**
 * A writer's own clock: up to five seconds off, and set anew now and then, so it also runs backwards. The operation
 * remembers its readings: a rule about time must hold by one of them.
 */
function skewedClock(scheduler: Scheduler, options: MortalOptions, random: Random): () => number {
  const { skewMaxMs, clockJumps } = options
  const draw = (): number => random.between(-skewMaxMs, skewMaxMs)
  let skewMs = draw()
  return () => {
    if (random.chance(clockJumps)) skewMs = draw()
    const nowMs = Math.floor(scheduler.nowMs) + skewMs
    readClock(nowMs)
    return nowMs
  }
}
