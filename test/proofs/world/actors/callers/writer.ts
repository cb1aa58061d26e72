import { createQueues, type Queues } from '../../../../../engine/queues.ts'
import { checkAnswer } from '../../checkers/check-answer.ts'
import { checkWaiter } from '../../checkers/check-waiting.ts'
import { announcePush } from '../../checkers/ledger.ts'
import type { Model } from '../../checkers/model.ts'
import { featuresOf } from '../../harness/crossings.ts'
import { show } from '../../harness/history.ts'
import { Mortal, type MortalOptions, type Surroundings } from '../../harness/mortal.ts'
import { inLife, type World } from '../../harness/world.ts'
import { type Command, perform, type Service } from './command.ts'
import {
  carryOut,
  currentOperation,
  judgeFromHere,
  type Operation,
  type Outcome,
  startOperation,
} from './operation.ts'
import { KEY_SECONDS, keysExpire } from './profile.ts'

// biome-ignore format: a table
const verbsOfConsumers = [
  'list', 'pop', 'acknowledge', 'extend', 'release', 'deadLetter', 'browse',
] as const

/** A process with an engine, which does what callers ask of it. */
export class Writer extends Mortal<Service> {
  readonly #world: World
  readonly #model: Model
  readonly #running = new Set<Operation>()

  constructor(world: World, model: Model, options: MortalOptions) {
    super(world, options, (surroundings) => openService(world, model, surroundings))
    this.#world = world
    this.#model = model
  }

  /** By the world's own clock; not at all once this life has ended. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const { scheduler } = this.#world
    const { life } = this
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      signal?.addEventListener('abort', () => resolve(), { once: true })
      inLife(this.#world, life, scheduler.nowMs + ms, resolve)
    })
  }

  /** Its calls under way never end; a new process with an empty memory takes its place. */
  override crash(): void {
    for (const operation of this.#running) {
      operation.outcome = { kind: 'crashed' }
      this.#count(operation, 'crashed')
    }
    this.#running.clear()
    super.crash()
  }

  run(command: Command, done?: (operation: Operation) => void): Operation {
    const model = this.#model
    const { life, service } = this
    const operation = startOperation(model, life.name, command)
    announcePush(model, operation)
    this.#running.add(operation)
    if (this.#world.linger !== undefined && command.verb === 'push') {
      operation.together = () =>
        [...this.#running].filter(
          (one) => one.command.verb === 'push' && one.command.queue === command.queue,
        )
    }
    this.#world.history.add(operation.writer, () => `#${operation.id} ${show(command)}`)
    const finish = (outcome: Outcome): void => {
      if (life.dead) return
      this.#running.delete(operation)
      this.#finish(operation, outcome)
      done?.(operation)
    }
    const atCommit = () => model.commits
    carryOut(operation, () => perform(service, command), atCommit, finish)
    return operation
  }

  /** As a promise; of a process that dies it never ends. */
  call(command: Command): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.run(command, ({ outcome }) => {
        if (outcome?.kind === 'success') resolve(outcome.value)
        else if (outcome !== undefined && 'error' in outcome) reject(outcome.error)
      })
    })
  }

  /**
   * As the engine's interface, for code of ours that calls it (consumers, the inbox): each call is an operation like
   * any other, so the checkers judge it. It ends with this life of the process.
   */
  asQueues(): Queues {
    const { life } = this
    const calls = verbsOfConsumers.map((verb) => {
      const call = (...given: unknown[]): Promise<unknown> => {
        if (life.dead) return new Promise(() => {})
        const [queue, request = {}] = verb === 'list' ? ['', ...given] : given
        return this.call({ verb, queue, request } as Command)
      }
      return [verb, call]
    })
    return Object.fromEntries(calls) as Queues
  }

  #finish(operation: Operation, outcome: Outcome): void {
    operation.outcome = outcome
    const { history, statistics, crossings } = this.#world
    const { command, requests } = operation
    history.add(operation.writer, () => {
      const told = 'error' in outcome ? `: ${outcome.error}` : ''
      const what = outcome.kind === 'success' ? show(outcome.value) : `${outcome.kind}${told}`
      return `#${operation.id} → ${what}`
    })
    const code = outcome.kind === 'refused' || outcome.kind === 'unknown' ? outcome.error.code : ''
    this.#count(operation, `${outcome.kind} ${code}`.trim())
    for (const feature of featuresOf(operation)) crossings.note(command.queue, feature)
    statistics.max(`max requests of ${command.verb}`, requests)
    checkAnswer(this.#model, operation)
  }

  #count({ command }: Operation, how: string): void {
    this.#world.statistics.count(`operation ${command.verb} ${how}`)
  }
}

function openService(world: World, model: Model, surroundings: Surroundings): Service {
  const { life, network, clock, random } = surroundings
  const { dynamodb, s3 } = network
  const { tableName, bucketName } = world.store
  const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    await clock.sleep(ms, signal)
    const operation = currentOperation.getStore()
    // Of a pop, only the pauses of its wait end with its signal.
    if (signal === undefined || operation?.command.verb !== 'pop') return
    checkWaiter(model, operation)
    judgeFromHere(operation, model.commits)
  }
  const queues = createQueues({
    tableName,
    bucketName,
    dynamodb,
    s3,
    clock: { nowMs: clock.nowMs, sleep },
    waitingPopsMax: world.waitingPopsMax,
    random: () => random.next(),
    linger: world.linger,
    ...(keysExpire(world.seed) && { idempotencyTtlSeconds: KEY_SECONDS }),
    onBackgroundError: (error, { queue, step }) => {
      world.statistics.count(`background ${step} failed`)
      world.history.add(life.name, () => `  ${step} of ${queue} failed: ${error}`)
      if (!(error instanceof TypeError || error instanceof RangeError)) return
      world.violated('only our own errors come out', `${step} of ${queue}: ${error.stack}`)
    },
  })
  const abortAfter = (ms: number | undefined): AbortSignal => {
    const ended = new AbortController()
    if (ms !== undefined) inLife(world, life, world.scheduler.nowMs + ms, () => ended.abort())
    return ended.signal
  }
  return { queues, dynamodb, tableName, abortAfter }
}
