import { schedulesPartition } from '../../../../engine/core/keys.ts'
import { FORGET_AFTER_MS } from '../../../../engine/core/limits.ts'
import type { HousekeepReport, PopOutcome, SweepReport } from '../../../../engine/queues.ts'
import type { Command } from '../actors/callers/command.ts'
import type { Operation, Outcome } from '../actors/callers/operation.ts'
import type { Writer } from '../actors/callers/writer.ts'
import { isDrained } from '../checkers/check-consumers.ts'
import type { Model, QueueModel } from '../checkers/model.ts'
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

/** A world whose faults are over, and who calls in it. */
export type Ending = {
  readonly model: Model
  readonly driver: Driver
  readonly call: (command: Command) => Promise<Outcome | undefined>
}

/** Where a queue has room for one, each item that expires takes a round. */
const ROUNDS_MAX = 60
const POPS_MAX = 120

/** Empties every queue in a world without faults, and lets the engine forget the empty ones. */
export async function drain(ending: Ending): Promise<void> {
  const { model, driver } = ending
  const { world } = model
  await driver.advance(320_000)
  for (let round = 1; ; round += 1) {
    await sweep(ending)
    for (const { queue } of [...model.queues()]) await drainQueue(ending, queue)
    if (world.violation !== undefined) return
    const undone = [...model.queues()].filter((one) => !isDrained(one) || isRefused(model, one))
    if (undone.length === 0) break
    if (round === ROUNDS_MAX) {
      world.violated('with faults off every queue drains', undone.map(({ queue }) => queue).join())
      return
    }
    await driver.advance(5_000)
  }
  for (let round = 0; round < 3; round += 1) {
    await driver.advance(FORGET_AFTER_MS + 15_000)
    await sweep(ending)
    if ([...model.queues()].every(isForgotten)) return
    await driver.advance(2_000)
  }
  for (const queueModel of model.queues()) {
    if (isForgotten(queueModel)) continue
    world.violated('what is empty and not configured is forgotten', queueModel.queue)
  }
}

export async function sweep(ending: Ending): Promise<void> {
  const { world } = ending.model
  for (let run = 0; run < 20; run += 1) {
    const report = await succeed<SweepReport>(ending, sweepOf(world))
    for (const { queue, error } of report?.failed.slice(0, 1) ?? []) {
      world.violated('with faults off the sweeper succeeds', `${queue}: ${error}`)
    }
    if (!report?.more) return
  }
  world.violated('the sweeper comes to an end', 'there is always more')
}

async function drainQueue(ending: Ending, queue: string): Promise<void> {
  const { model, driver, call } = ending
  for (let run = 0; ; run += 1) {
    const report = await succeed<HousekeepReport>(ending, { verb: 'housekeep', queue })
    if (report === undefined) return
    if (report.finished) break
    if (run === 20) return model.world.violated('housekeeping comes to an end', queue)
  }
  let acknowledge: string | undefined
  for (let pops = 0; pops < POPS_MAX; pops += 1) {
    const request = { count: 100, requireAck: true, competing: true, ttlSeconds: 300 }
    const combined = acknowledge === undefined ? {} : { acknowledge }
    const outcome = await call({ verb: 'pop', queue, request: { ...request, ...combined } })
    const { code, retryAfterMs = 0 } = outcome?.kind === 'refused' ? outcome.error : {}
    // Expired items that become dead letters wait until those before them have moved: the housekeeper is at it.
    if (code === 'RATE_LIMITED' || code === 'TOO_MANY_LOCKS') {
      await driver.advance(code === 'RATE_LIMITED' ? retryAfterMs + 1 : 1_000)
      continue
    }
    const popped = successOf<PopOutcome>(model, 'pop', outcome)
    if (popped?.kind !== 'items') return
    acknowledge = popped.lock?.id
  }
  // Or it would take up the room of what is due.
  if (acknowledge !== undefined)
    await call({ verb: 'acknowledge', queue, request: { lockId: acknowledge } })
}

/** What it answered; now that can be nothing but a success. */
export const succeed = async <T>({ model, call }: Ending, command: Command) =>
  successOf<T>(model, command.verb, await call(command))

function successOf<T>(model: Model, verb: string, outcome: Outcome | undefined): T | undefined {
  if (outcome?.kind === 'success') return outcome.value as T
  const why = outcome !== undefined && 'error' in outcome ? String(outcome.error) : outcome?.kind
  model.world.violated('with faults off every operation succeeds', `${verb}: ${why}`)
  return undefined
}

/** A schedule found no room for an occurrence, and tries again. */
const isRefused = ({ rows }: Model, { queue }: QueueModel): boolean =>
  [...(rows.partition(schedulesPartition(queue))?.values() ?? [])].some(
    ({ retry }) => retry !== undefined,
  )

const isForgotten = ({ current }: QueueModel): boolean =>
  current === undefined ||
  current.record.configuration.revision > 0 ||
  // What came by way of the inbox may come again for 14 days.
  current.record.sequence !== undefined
