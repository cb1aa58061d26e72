import type { Random } from '../../../../testing/random.ts'
import type { DocumentSender, ObjectSender } from '../../../../testing/simulated/network.ts'
import { requestTimeout } from '../../../../testing/simulated/network.ts'
import type { SimulatedRequest } from '../../../../testing/simulated/store.ts'
import { currentOperation } from '../actors/callers/operation.ts'
import { heardLateMs, hearsLate, isWrite, planRequest } from './faults.ts'
import { show } from './history.ts'
import { type Intervention, inLife, type Life, type Sender, type World } from './world.ts'

/** One life's way to the store: it delays, loses and fails requests, and freezes or kills the sender. */
export class Network {
  readonly #world: World
  readonly #life: Life
  readonly #crash: () => void
  readonly dynamodb = this.#sender('dynamodb') as unknown as DocumentSender
  readonly s3 = this.#sender('s3') as unknown as ObjectSender

  constructor(world: World, life: Life, crash: () => void) {
    this.#world = world
    this.#life = life
    this.#crash = crash
  }

  #sender(service: SimulatedRequest['service']) {
    return {
      send: (command: { readonly input: object }): Promise<unknown> =>
        this.#deliver({ service, name: command.constructor.name, input: command.input }),
    }
  }

  #deliver(request: SimulatedRequest): Promise<unknown> {
    const world = this.#world
    const { odds, random, scheduler, statistics, crossings } = world
    const current = currentOperation.getStore()
    // A batch runs in the name of whoever began it, which may have its answer by now.
    const together = current?.together?.() ?? []
    const operation = together[0] ?? current
    const sender: Sender = { writer: this.#life.name, operation, together }
    if (operation !== undefined) operation.requests += 1
    statistics.count('requests')

    if (this.#life.dead) return new Promise(() => {})
    const forced = world.intervene?.(request, sender)
    if (forced !== undefined) return this.#intervene(request, sender, forced)
    const dies = random.chance(odds.crash)
    const freezes = !dies && random.chance(odds.pause)
    const plan = planRequest(request, odds, world.latencyMaxMs, random)
    const { fault, applyAfterMs, answerDelayMs, error } = plan
    if (fault !== undefined) statistics.count(`fault ${fault}`)
    if (error !== undefined) hinder(sender)
    const queue = operation?.command.queue ?? ''
    if (dies) crossings.note(queue, 'crash')
    if (freezes) crossings.note(queue, 'freeze')
    if (fault === 'answer-lost') crossings.note(queue, 'lost answer')

    // Frozen or dead before it left, or after: half the time each.
    const left = !(dies || freezes) || random.chance(0.5)
    const freeze = (forMs: readonly number[]): void => {
      this.#life.pausedUntilMs = scheduler.nowMs + random.pick(forMs)
    }
    if (dies) statistics.count(left ? 'fault crash, request sent' : 'fault crash, request not sent')
    if (freezes) {
      statistics.count('fault pause')
      freeze([500, 6_000, 40_000, 180_000])
    }
    if (fault === 'answer-lost' && hearsLate(world.seed)) {
      statistics.count('path heard late of a lost answer')
      freeze(heardLateMs)
    }
    this.#note(sender, request, fault, dies && 'DIES', freezes && 'FREEZES')
    const departsMs = freezes && !left ? this.#life.pausedUntilMs : scheduler.nowMs
    return new Promise((resolve, reject) => {
      if (!(dies && !left) && applyAfterMs !== undefined) {
        const answer = error === undefined ? answerTo(resolve, reject) : undefined
        this.#apply(request, sender, departsMs + applyAfterMs, (outcome, settlesMs) => {
          if (answer === undefined) return
          const atMs = scheduler.nowMs + settlesMs + answerDelayMs
          inLife(world, this.#life, atMs, () => answer(outcome))
        })
      }
      if (dies) this.#crash()
      else if (error)
        inLife(world, this.#life, departsMs + error.afterMs, () => reject(error.error))
    })
  }

  #intervene(request: SimulatedRequest, sender: Sender, how: Intervention): Promise<unknown> {
    const { scheduler } = this.#world
    this.#note(sender, request, how)
    return new Promise((resolve, reject) => {
      const outcome = how.startsWith('applied') ? this.#carryOut(request, sender) : undefined
      if (how === 'applied, answered, die' && outcome !== undefined) {
        answerTo(resolve, reject)(outcome)
        scheduler.at(scheduler.nowMs, 2, false, this.#crash)
      } else if (how === 'die before' || how === 'applied, die') this.#crash()
      else inLife(this.#world, this.#life, scheduler.nowMs + 1_000, () => reject(requestTimeout()))
    })
  }

  /** `answer` hears what came of it, and for how long others do not see all of it. */
  #apply(request: SimulatedRequest, sender: Sender, atMs: number, answer: Answer): void {
    const { scheduler, random, history, store, transactionMaxMs } = this.#world
    const isTransaction = request.name === 'TransactWriteCommand'
    // Its sender has the answer of a transaction once everybody can see all of it.
    const finish = (outcome: Outcome): void => {
      const settlesMs = store.settledAtMs - scheduler.nowMs + 1
      answer(outcome, isTransaction && settlesMs > 1 ? settlesMs : 0)
    }
    scheduler.at(atMs, random.next(), false, () => {
      // A request that a dead writer had sent may arrive or not.
      if (this.#life.dead && random.chance(0.3)) {
        history.add(sender.writer, () => `  ${request.name} of the dead is dropped`)
        return
      }
      if (!isTransaction || transactionMaxMs === 0) return finish(this.#carryOut(request, sender))
      // It holds its items for a while, even if its sender has died.
      const begun = this.#attempt(request, sender, () => store.begin(request))
      if ('error' in begun) return finish(begun)
      const second = begun.output as () => unknown
      scheduler.at(scheduler.nowMs + random.next() * transactionMaxMs, random.next(), false, () =>
        finish(this.#carryOut(request, sender, second)),
      )
    })
  }

  #carryOut(
    request: SimulatedRequest,
    sender: Sender,
    apply = () => this.#world.store.apply(request),
  ): Outcome {
    const world = this.#world
    return this.#attempt(request, sender, () => {
      const output = inAnyOrder(apply(), world.random)
      world.applied(request, sender)
      if (isWrite(request)) this.#tell(sender, () => `${request.name} applied`)
      return output
    })
  }

  #attempt(request: SimulatedRequest, sender: Sender, act: () => unknown): Outcome {
    const world = this.#world
    world.applying = sender
    try {
      return { output: act() }
    } catch (error) {
      const { name, message, CancellationReasons = [] } = error as Refused
      const codes = CancellationReasons.map(({ Code }) => Code)
      if (name === 'ValidationException') {
        world.violated('requests are valid', `${message}: ${show(request.input)}`)
      }
      if (name !== 'ConditionalCheckFailedException') hinder(sender)
      else world.statistics.count('path lost a race')
      if (name === 'TransactionConflictException' || codes.includes('TransactionConflict')) {
        world.statistics.count('path met a transaction')
      }
      world.statistics.count(`refused ${name}`)
      this.#tell(sender, () => `${request.name} refused: ${error}`)
      return { error }
    } finally {
      world.applying = undefined
    }
  }

  #note(sender: Sender, request: SimulatedRequest, ...hows: readonly unknown[]): void {
    this.#tell(sender, () => {
      const how = hows.filter(Boolean).join(', ')
      const what = show({ ...request.input, TableName: undefined, Bucket: undefined })
      return `${request.name}${how ? ` [${how}]` : ''} ${what}`
    })
  }

  #tell({ writer, operation }: Sender, what: () => string): void {
    this.#world.history.add(writer, () => `  #${operation?.id ?? '?'} ${what()}`)
  }
}

type Refused = Error & { readonly CancellationReasons?: readonly { readonly Code?: string }[] }

/** Maps in DynamoDB have no order, so we turn the locks round. (JavaScript orders lanes, whose names are numbers.) */
function inAnyOrder(output: unknown, random: Random): unknown {
  const { Item, Attributes } = output as { Item?: Row; Attributes?: Row }
  const record = Item ?? Attributes
  if (record?.K === undefined || random.chance(0.5)) return output
  const locks = Object.entries(record.K)
  if (locks.length < 2) return output
  const turned = { ...record, K: Object.fromEntries(locks.reverse()) }
  return { ...(output as object), ...(Item ? { Item: turned } : { Attributes: turned }) }
}

type Row = { readonly K?: object }

type Answer = (outcome: Outcome, settlesMs: number) => void

const answerTo =
  (resolve: (output: unknown) => void, reject: (error: unknown) => void) =>
  (outcome: Outcome): void =>
    'error' in outcome ? reject(outcome.error) : resolve(outcome.output)

type Outcome = { readonly output: unknown } | { readonly error: unknown }

function hinder({ operation, together = [] }: Sender): void {
  for (const one of [operation, ...together]) if (one !== undefined) one.isHindered = true
}
