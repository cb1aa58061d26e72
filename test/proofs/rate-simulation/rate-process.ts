import { QueueError } from '../../../lambdas/foundation/errors.ts'
import { createRateLimits, type RateLimits } from '../../../lambdas/rate/rate-limits.ts'
import type { Random } from '../../../testing/random.ts'
import { Network } from '../simulation/network.ts'
import { currentOperation, type Operation, readClock } from '../simulation/operation.ts'
import { SkewedClock } from '../simulation/skewed-clock.ts'
import { inLife, type Life, type World } from '../simulation/world.ts'
import {
  performRate,
  type RateCommand,
  type RateOperation,
  startRateOperation,
} from './rate-operation.ts'

export const HOUR_MS = 3_600_000
const secret = new TextEncoder().encode('the secret of a simulation')

export type RateOutcome =
  | { readonly kind: 'answered'; readonly answer: unknown }
  | { readonly kind: 'refused'; readonly error: QueueError }
  | { readonly kind: 'broken'; readonly error: unknown }

/** A limiter with a memory, a clock and randomness of its own; after a crash, a new one. */
export class RateProcess {
  readonly #world: World
  readonly #random: Random
  readonly #options: ProcessOptions
  #life: Life
  #limits: RateLimits
  #lives = 0
  #operations: () => number
  /** Called after a crash, when the new process is there. */
  onCrash: () => void = () => {}

  constructor(world: World, options: ProcessOptions, operations: () => number) {
    this.#world = world
    this.#options = options
    this.#random = world.random.fork()
    this.#operations = operations
    const { life, limits } = this.#begin()
    this.#life = life
    this.#limits = limits
  }

  get life(): Life {
    return this.#life
  }

  get farOff(): boolean {
    return this.#options.farOff
  }

  #begin(): { life: Life; limits: RateLimits } {
    const { scheduler, store } = this.#world
    const { name, skewMaxMs, clockJumps, farOff } = this.#options
    this.#lives += 1
    const life: Life = { name: `${name}.${this.#lives}`, dead: false, pausedUntilMs: 0 }
    const network = new Network(this.#world, life, () => this.#crash())
    const clock = new SkewedClock({
      scheduler,
      random: this.#random.fork(),
      skewMaxMs,
      jumps: clockJumps,
      onRead: readClock,
    })
    const random = this.#random.fork()
    const offMs = farOff ? this.#random.pick([-HOUR_MS, HOUR_MS]) : 0
    const limits = createRateLimits({
      tableName: store.tableName,
      dynamodb: network.dynamodb as never,
      secret,
      random: () => random.next(),
      clock: {
        nowMs: () => clock.nowMs() + offMs,
        sleep: (ms) =>
          new Promise<void>((resolve) => {
            inLife(this.#world, life, scheduler.nowMs + ms, resolve)
          }),
      },
    })
    return { life, limits }
  }

  #crash(): void {
    this.#life.dead = true
    const { life, limits } = this.#begin()
    this.#life = life
    this.#limits = limits
    this.onCrash()
  }

  run(command: RateCommand, done: (operation: RateOperation, outcome: RateOutcome) => void): void {
    const { scheduler, history } = this.#world
    const life = this.#life
    const operation = startRateOperation(
      this.#operations(),
      life.name,
      command,
      scheduler.nowMs,
      this.farOff,
    )
    history.add(life.name, () => `#${operation.id} ${JSON.stringify(command)}`)
    const finish = (outcome: RateOutcome): void => {
      if (life.dead) return
      history.add(life.name, () => `#${operation.id} → ${outcomeText(outcome)}`)
      done(operation, outcome)
    }
    currentOperation.run(operation as unknown as Operation, () => {
      performRate(this.#limits, command, Math.floor(scheduler.nowMs)).then(
        (answer) => finish({ kind: 'answered', answer }),
        (error: unknown) =>
          finish(
            error instanceof QueueError ? { kind: 'refused', error } : { kind: 'broken', error },
          ),
      )
    })
  }
}

export type ProcessOptions = {
  readonly name: string
  readonly skewMaxMs: number
  readonly clockJumps: number
  readonly farOff: boolean
}

function outcomeText(outcome: RateOutcome): string {
  if (outcome.kind === 'answered') return JSON.stringify(outcome.answer)
  const { error } = outcome
  return `${outcome.kind}: ${error instanceof Error ? error.stack : String(error)}`
}
