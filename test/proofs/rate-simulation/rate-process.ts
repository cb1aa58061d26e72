import { QueueError } from '../../../lambdas/foundation/errors.ts'
import { createRateLimits, type RateLimits } from '../../../lambdas/rate/rate-limits.ts'
import { currentOperation, type Operation } from '../world/actors/callers/operation.ts'
import { Mortal, type MortalOptions } from '../world/harness/mortal.ts'
import type { Life, World } from '../world/harness/world.ts'
import {
  performRate,
  type RateCommand,
  type RateOperation,
  startRateOperation,
} from './rate-operation.ts'

const HOUR_MS = 3_600_000
const secret = new TextEncoder().encode('the secret of a simulation')

export type RateOutcome =
  | { readonly kind: 'answered'; readonly answer: unknown }
  | { readonly kind: 'refused'; readonly error: QueueError }
  | { readonly kind: 'broken'; readonly error: unknown }

/** A process with a limiter, which does what callers ask of it. */
export class RateProcess {
  readonly #world: World
  readonly #process: Mortal<RateLimits>
  readonly #nextId: () => number
  readonly farOff: boolean

  constructor(
    world: World,
    { farOff, ...options }: MortalOptions & { readonly farOff: boolean },
    nextId: () => number,
  ) {
    this.#world = world
    this.#nextId = nextId
    this.farOff = farOff
    this.#process = new Mortal(world, options, ({ network, clock, random }) => {
      const offMs = farOff ? random.pick([-HOUR_MS, HOUR_MS]) : 0
      return createRateLimits({
        tableName: world.store.tableName,
        dynamodb: network.dynamodb as never,
        secret,
        random: () => random.next(),
        clock: { nowMs: () => clock.nowMs() + offMs, sleep: clock.sleep },
      })
    })
  }

  get life(): Life {
    return this.#process.life
  }

  set onCrash(onCrash: () => void) {
    this.#process.onCrash = onCrash
  }

  run(command: RateCommand, done: (operation: RateOperation, outcome: RateOutcome) => void): void {
    const { scheduler, history } = this.#world
    const { life } = this
    const operation = startRateOperation(
      this.#nextId(),
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
      performRate(this.#process.service, command, Math.floor(scheduler.nowMs)).then(
        (answer) => finish({ kind: 'answered', answer }),
        (error: unknown) =>
          finish(
            error instanceof QueueError ? { kind: 'refused', error } : { kind: 'broken', error },
          ),
      )
    })
  }
}

function outcomeText(outcome: RateOutcome): string {
  if (outcome.kind === 'answered') return JSON.stringify(outcome.answer)
  const { error } = outcome
  return `${outcome.kind}: ${error instanceof Error ? error.stack : String(error)}`
}
