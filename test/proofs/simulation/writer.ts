import { createQueues, type Queues } from '../../../lambdas/engine/queues.ts'
import type { Random } from '../../../testing/random.ts'
import { announcePush } from './announce-push.ts'
import { businessTransaction } from './business-transaction.ts'
import type { Command } from './command.ts'
import { countOperationPaths } from './count-operation-paths.ts'
import { show } from './history.ts'
import { checkAnswer } from './model/check-answer.ts'
import type { Model } from './model/model.ts'
import { Network } from './network.ts'
import {
  currentOperation,
  type Operation,
  type Outcome,
  outcomeOfError,
  readClock,
  startOperation,
} from './operation.ts'
import { perform, type SendBusinessTransaction } from './perform.ts'
import { SkewedClock } from './skewed-clock.ts'
import { inLife, type Life, type World } from './world.ts'

export type WriterOptions = {
  readonly name: string
  readonly skewMaxMs: number
  readonly clockJumps: number
}

/** An engine with a memory, a clock and randomness of its own; after a crash, a new one. */
export class Writer {
  readonly #world: World
  readonly #model: Model
  readonly #options: WriterOptions
  readonly #random: Random
  readonly #running = new Set<Operation>()
  #lives = 0
  #life: Life
  #queues: Queues
  #sendTransaction: SendBusinessTransaction
  /** Called after a crash, when the new engine is there. */
  onCrash: () => void = () => {}

  constructor(world: World, model: Model, options: WriterOptions) {
    this.#world = world
    this.#model = model
    this.#options = options
    this.#random = world.random.fork()
    const { life, queues, sendTransaction } = this.#begin()
    this.#life = life
    this.#queues = queues
    this.#sendTransaction = sendTransaction
  }

  get life(): Life {
    return this.#life
  }

  #begin(): { life: Life; queues: Queues; sendTransaction: SendBusinessTransaction } {
    const { scheduler, store } = this.#world
    this.#lives += 1
    const { name, skewMaxMs, clockJumps } = this.#options
    const life: Life = {
      name: this.#lives === 1 ? name : `${name}.${this.#lives}`,
      dead: false,
      pausedUntilMs: 0,
    }
    const network = new Network(this.#world, life, () => this.crash())
    const clock = new SkewedClock({
      scheduler,
      random: this.#random.fork(),
      skewMaxMs,
      jumps: clockJumps,
      onRead: readClock,
    })
    const random = this.#random.fork()
    const { dynamodb, s3 } = network
    const queues = createQueues({
      tableName: store.tableName,
      bucketName: store.bucketName,
      dynamodb,
      s3,
      clock: {
        nowMs: () => clock.nowMs(),
        sleep: (ms: number) =>
          new Promise<void>((resolve) => {
            inLife(this.#world, life, scheduler.nowMs + ms, resolve)
          }),
      },
      random: () => random.next(),
      onBackgroundError: (error, { queue, step }) => {
        this.#world.statistics.count(`background ${step} failed`)
        this.#world.history.add(life.name, () => `  ${step} of ${queue} failed: ${error}`)
        if (!(error instanceof TypeError || error instanceof RangeError)) return
        this.#world.violated('only our own errors come out', `${step} of ${queue}: ${error.stack}`)
      },
    })
    return { life, queues, sendTransaction: businessTransaction(dynamodb, store.tableName) }
  }

  /** Dies on the spot: what it has under way is never heard of again. */
  crash(): void {
    this.#life.dead = true
    for (const operation of this.#running) {
      operation.outcome = { kind: 'crashed' }
      this.#count(operation, 'crashed')
    }
    this.#running.clear()
    const next = this.#begin()
    this.#life = next.life
    this.#queues = next.queues
    this.#sendTransaction = next.sendTransaction
    this.onCrash()
  }

  run(command: Command, done: (operation: Operation) => void): Operation {
    const { scheduler, history } = this.#world
    const operation = startOperation(
      this.#model.nextOperationId(),
      this.#life.name,
      command,
      scheduler.nowMs,
      this.#model.commits,
    )
    announcePush(this.#model, operation)
    this.#running.add(operation)
    history.add(operation.writer, () => `#${operation.id} ${show(command)}`)
    const life = this.#life
    const finish = (outcome: Outcome): void => {
      if (life.dead) return
      this.#running.delete(operation)
      this.#finish(operation, outcome)
      done(operation)
    }
    currentOperation.run(operation, () => {
      const atCommit = (): number => this.#model.commits
      perform(this.#queues, command, this.#sendTransaction).then(
        (value) => finish({ kind: 'success', value, atCommit: atCommit() }),
        (error: unknown) => finish(outcomeOfError(error, atCommit())),
      )
    })
    return operation
  }

  #finish(operation: Operation, outcome: Outcome): void {
    operation.outcome = outcome
    const { history, statistics } = this.#world
    history.add(operation.writer, () => {
      if (outcome.kind === 'success') return `#${operation.id} → ${show(outcome.value)}`
      if (outcome.kind === 'crashed') return `#${operation.id} → crashed`
      return `#${operation.id} → ${outcome.kind}: ${outcome.error}`
    })
    const code = outcome.kind === 'refused' || outcome.kind === 'unknown' ? outcome.error.code : ''
    this.#count(operation, `${outcome.kind} ${code}`.trim())
    countOperationPaths(this.#world, operation)
    statistics.max(`max requests of ${operation.command.verb}`, operation.requests)
    checkAnswer(this.#model, operation)
  }

  #count({ command }: Operation, how: string): void {
    this.#world.statistics.count(`operation ${command.verb} ${how}`)
  }
}
