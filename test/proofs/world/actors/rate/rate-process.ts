import { QueueError } from '../../../../../lambdas/foundation/errors.ts'
import { createRateLimits, type RateLimits } from '../../../../../lambdas/rate/rate-limits.ts'
import type { DocumentSender } from '../../../../../testing/simulated/simulated-client.ts'
import type { RateRows } from '../../checkers/rate/rate-rows.ts'
import type { Joining } from '../../harness/actor.ts'
import { show } from '../../harness/history.ts'
import { Mortal } from '../../harness/mortal.ts'
import type { Life } from '../../harness/world.ts'
import { currentOperation, startOperation } from '../callers/operation.ts'
import { performRate, type RateCall, type RateCommand } from './rate-call.ts'

const HOUR_MS = 3_600_000
const secret = new TextEncoder().encode('the secret of a simulation')

export type RateOutcome =
  | { readonly kind: 'answered'; readonly answer: unknown }
  | { readonly kind: 'refused'; readonly error: QueueError }
  | { readonly kind: 'broken'; readonly error: unknown }

type Service = { readonly limits: RateLimits; readonly known: Map<string, number> }

/** A process with a limiter, which does what callers ask of it. */
export class RateProcess {
  readonly #joining: Joining
  readonly #rows: RateRows
  readonly #process: Mortal<Service>
  readonly #farOff: boolean

  constructor(
    joining: Joining,
    rows: RateRows,
    name: string,
    { farOff = false, clockJumps = joining.profile.clockJumps } = {},
  ) {
    const { world, profile } = joining
    this.#joining = joining
    this.#rows = rows
    this.#farOff = farOff
    const options = { name, skewMaxMs: profile.skewMaxMs, clockJumps }
    this.#process = new Mortal(world, options, ({ network, clock, random }) => {
      const offMs = farOff ? random.pick([-HOUR_MS, HOUR_MS]) : 0
      const known = new Map<string, number>()
      const limits = createRateLimits({
        tableName: world.store.tableName,
        dynamodb: this.#noting(network.dynamodb, known),
        secret,
        random: () => random.next(),
        clock: { nowMs: () => clock.nowMs() + offMs, sleep: clock.sleep },
      })
      return { limits, known }
    })
  }

  get life(): Life {
    return this.#process.life
  }

  set onCrash(onCrash: () => void) {
    this.#process.onCrash = onCrash
  }

  run(command: RateCommand, done: (call: RateCall, outcome: RateOutcome) => void): void {
    const { world, model } = this.#joining
    const { scheduler, history } = world
    const { life } = this
    const { limits, known } = this.#process.service
    const { nowMs } = scheduler
    const asQueues = { verb: 'list', queue: '' } as const
    const id = model.nextOperationId()
    const call: RateCall = {
      command,
      operation: startOperation(id, life.name, asQueues, nowMs, model.commits),
      slots: [],
      farOff: this.#farOff,
      knows: (row) => known.get(row) === this.#rows.of(row).states.length,
    }
    this.#rows.begin(call)
    history.add(life.name, () => `#${id} ${show(command)}`)
    const finish = (outcome: RateOutcome): void => {
      if (life.dead) return
      history.add(life.name, () => `#${id} → ${outcomeText(outcome)}`)
      done(call, outcome)
    }
    currentOperation.run(call.operation, () => {
      performRate(limits, command, Math.floor(nowMs)).then(
        (answer) => finish({ kind: 'answered', answer }),
        (error: unknown) =>
          finish(
            error instanceof QueueError ? { kind: 'refused', error } : { kind: 'broken', error },
          ),
      )
    })
  }

  /** Notes which state of a row the process has heard of last. */
  #noting(network: DocumentSender, known: Map<string, number>): DocumentSender {
    return {
      send: async (command: { readonly input: { readonly Key?: { readonly pk: string } } }) => {
        const pk = command.input.Key?.pk ?? ''
        const { states } = this.#rows.of(pk)
        const [before, operation] = [states.length, currentOperation.getStore()]
        try {
          const answer = await network.send(command as never)
          const own = states.findIndex(({ by }, at) => at >= before && by === operation)
          known.set(pk, own < 0 ? before : own + 1)
          return answer as never
        } catch (error) {
          const { name } = error as Error
          if (name === 'ConditionalCheckFailedException') known.set(pk, before)
          throw error
        }
      },
    }
  }
}

function outcomeText(outcome: RateOutcome): string {
  if (outcome.kind === 'answered') return show(outcome.answer)
  const { error } = outcome
  return `${outcome.kind}: ${error instanceof Error ? error.stack : String(error)}`
}
