import type {
  Handler,
  HandlerContext,
  HandlerResult,
} from '../../../lambdas/consumer/core/handler.ts'
import { lookerOf } from '../../../lambdas/consumer/core/look.ts'
import { type ManyOptions, manySettingsOf } from '../../../lambdas/consumer/core/many-options.ts'
import { workMany } from '../../../lambdas/consumer/core/work-many.ts'
import { late } from '../../../lambdas/consumer/edge.ts'
import type { Random } from '../../../testing/random.ts'
import type { Item, Ledger } from './ledger.ts'
import type { Life, World } from './world.ts'

export type HandlerOdds = {
  readonly flaky: number
  readonly slowMs: number
}

export type Plan = {
  readonly prefix: string
  readonly names: readonly string[] | undefined
  readonly options: ManyOptions
  readonly handler: HandlerOdds
  /** How long handlers may go on after a stop. */
  readonly graceMs: number | undefined
}

/** One process that works the queues until it is stopped or dies. */
export class Consumer {
  readonly name: string
  readonly #world: World
  readonly #ledger: Ledger
  readonly #random: Random
  readonly #plan: Plan
  readonly #life: Life = { dead: false }
  readonly #stop = new AbortController()
  readonly #graceOver = new AbortController()
  readonly #locks = new Map<string, string>()
  stoppedMs: number | undefined
  endedMs: number | undefined
  onDeath: () => void = () => {}
  onEnd: () => void = () => {}

  constructor(name: string, world: World, ledger: Ledger, random: Random, plan: Plan) {
    this.name = name
    this.#world = world
    this.#ledger = ledger
    this.#random = random
    this.#plan = plan
    const life = this.#life
    const { prefix, names, options } = plan
    const which = names === undefined ? { prefix } : { queues: names }
    world.note(`${name} begins`)
    workMany(
      manySettingsOf(options),
      this.#handle,
      {
        queues: world.verbs(life, name),
        look: lookerOf(world.list(life, name), which),
        clock: world.clock(life),
        random: () => random.next(),
        newKey: () => `${name}-${random.next()}`,
        late,
        report: (trouble) =>
          world.note(
            `${name} tells of ${trouble.kind}${'error' in trouble ? `: ${trouble.error}` : ''}`,
          ),
      },
      {
        stop: this.#stop.signal,
        graceOver: this.#graceOver.signal,
        halt: () => this.stop(),
      },
    ).then(
      () => this.#ended(),
      (error: unknown) => ledger.violations.push(`${name} failed: ${error}`),
    )
  }

  get isOver(): boolean {
    return this.endedMs !== undefined || this.#life.dead
  }

  /** Locks that its handlers have worked under, each with its queue. */
  get locks(): ReadonlyMap<string, string> {
    return this.#locks
  }

  stop(): void {
    if (this.#stop.signal.aborted || this.#life.dead) return
    this.#world.note(`${this.name} stops`)
    this.stoppedMs = this.#world.nowMs
    this.#stop.abort()
    const { graceMs } = this.#plan
    if (graceMs === undefined) return
    void this.#world
      .clock(this.#life)
      .sleep(graceMs)
      .then(() => this.#graceOver.abort())
  }

  kill(): void {
    if (this.isOver) return
    this.#world.note(`${this.name} dies`)
    this.#life.dead = true
    this.#ledger.gone(this.name, 'died')
    this.onDeath()
  }

  #ended(): void {
    this.#world.note(`${this.name} ends`)
    this.endedMs = this.#world.nowMs
    if (this.#plan.graceMs === undefined && this.#ledger.isAtWork(this.name)) {
      this.#ledger.violations.push(`${this.name} has ended, and its handler has not`)
    }
    // It would go on by itself where the grace was too short; here the process is gone.
    this.#life.dead = true
    this.#ledger.gone(this.name, 'gave up')
    this.onEnd()
  }

  readonly #handle: Handler = async (popped, context) => {
    const random = this.#random
    const ledger = this.#ledger
    const { slowMs } = this.#plan.handler
    const { queue, signal, lock } = context
    if (this.isOver) ledger.violations.push(`${this.name} is over, and its handler is called`)
    this.#world.note(`${this.name} handles ${queue} ${popped.map(({ text }) => text).join()}`)
    this.#locks.set(lock.id, queue)
    const work = ledger.begin(this.name, queue, popped, signal, this.#world.nowMs)
    await this.#world.clock(this.#life).sleep(random.next() ** 4 * slowMs)
    if (work.items.some(({ kind }) => kind === 'killer')) {
      this.kill()
      return new Promise(() => {})
    }
    try {
      return this.#finish(work.items, popped, context)
    } finally {
      ledger.end(work, this.#world.nowMs)
    }
  }

  #finish(
    items: readonly Item[],
    popped: readonly { readonly id: string }[],
    context: HandlerContext,
  ): HandlerResult {
    const random = this.#random
    const { flaky } = this.#plan.handler
    const failing = items.filter(({ kind }) =>
      kind === 'flaky' ? random.chance(flaky) : kind === 'poison',
    )
    const ids = failing.map((item) => popped[items.indexOf(item)]?.id as string)
    const done = (some: readonly Item[]): void => {
      for (const item of some) item.done = true
    }
    if (failing.length === 0) {
      done(items)
      return undefined
    }
    const how = random.pick(['throws', 'names', 'releases', 'condemns'] as const)
    if (how === 'throws') {
      if (items.length === 1) (items[0] as Item).failures += 1
      throw new Error('The handler failed')
    }
    for (const item of failing) {
      item.failures += 1
      if (how === 'condemns') item.wasCondemned = true
    }
    done(items.filter((item) => !failing.includes(item)))
    if (how === 'names') return { failed: ids }
    for (const id of ids) {
      if (how === 'releases') context.release(id)
      else context.deadLetter(id, 'poison')
    }
    return undefined
  }
}
