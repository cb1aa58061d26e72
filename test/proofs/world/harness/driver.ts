import type { Command } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import type { Writer } from '../actors/callers/writer.ts'
import type { World } from './world.ts'

const STEPS_MAX = 300_000

/** In a world without faults, a question that finds nothing proves nothing: it asks only shards that hold timers. */
export function sweepOf({ store }: World): Command {
  const shards = new Set<number>()
  for (const { shard, checkAt } of store.items()) {
    if (checkAt !== undefined) shards.add(shard as number)
  }
  const request = { shards: shards.size > 0 ? [...shards] : [0] }
  return { verb: 'returnExpiredLocks', queue: '', request }
}

/** Runs the virtual world from outside: until something is so, for a time, or through one call. */
export class Driver {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  get #over(): boolean {
    return this.#world.violation !== undefined
  }

  async until(done: () => boolean): Promise<void> {
    const how = await this.#world.scheduler.run(() => done() || this.#over, STEPS_MAX)
    if (this.#over || how === 'done') return
    const what = how === 'idle' ? 'somebody waits for ever' : 'too many steps'
    this.#world.violated('someone always gets through', what)
  }

  async advance(ms: number): Promise<void> {
    if (this.#over) return
    const { scheduler } = this.#world
    let passed = false
    scheduler.at(scheduler.nowMs + ms, 1, false, () => {
      passed = true
    })
    await this.until(() => passed)
  }

  /** Until nothing is under way any more: all that was to land late has landed. */
  async settle(): Promise<void> {
    if (this.#over) return
    const how = await this.#world.scheduler.run(() => this.#over, STEPS_MAX)
    if (how === 'too many steps') this.#world.violated('what is under way ends', 'too many steps')
  }

  async sweepUntil(sweeper: Writer, untilMs: number, everyMs: number): Promise<void> {
    while (this.#world.scheduler.nowMs < untilMs && !this.#over) {
      await this.call(sweeper, sweepOf(this.#world))
      await this.advance(everyMs)
    }
  }

  /** A full queue keeps occurrences waiting: now there is room. */
  async makeRoom(writer: Writer, queues: Iterable<string>): Promise<void> {
    for (const queue of queues) {
      await this.call(writer, { verb: 'configure', queue, request: { capacity: null } })
    }
  }

  async call(writer: Writer, command: Command): Promise<Operation | undefined> {
    if (this.#over) return undefined
    let ended = false
    const operation = writer.run(command, () => {
      ended = true
    })
    await this.until(() => ended || operation.outcome?.kind === 'crashed')
    return operation
  }
}
