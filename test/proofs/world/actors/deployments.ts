import type { DeployedSchedule, DeployedSchedules } from '../../../../lambdas/engine/queues.ts'
import type { Joining, Part } from '../harness/actor.ts'
import type { Command } from './callers/command.ts'
import { drawPatterns } from './callers/profile.ts'
import type { Writer } from './callers/writer.ts'

const MINUTE_MS = 60_000
const RUNS_MAX = 8

type Deployment = {
  readonly hash: string
  readonly schedules: readonly DeployedSchedule[]
  readonly patterns: ReturnType<typeof drawPatterns>
  readonly sweeper: Writer
  runs: number
}

/** Sweepers of two deployments, the older of which may come last: each brings its own schedules and patterns. */
export class Deployments implements Part {
  readonly #joining: Joining
  readonly #older: Deployment
  readonly #newer: Deployment
  readonly #pushed = new Set<string>()
  #isCalm = false

  constructor(joining: Joining) {
    this.#joining = joining
    this.#older = this.#draw('older', ['kept', 'changed', 'dropped'])
    this.#newer = this.#draw('newer', ['kept', 'changed', 'added'])
  }

  start(): void {
    this.#run(this.#older)
    this.#joining.after(40_000 * this.#joining.random.next(), () => this.#run(this.#newer))
  }

  stop(): void {
    this.#isCalm = true
  }

  /** The newer one looks again, as every sweeper does five minutes after it has started. */
  async settle(): Promise<void> {
    const { driver, world, model, profile } = this.#joining
    const { sweeper } = this.#newer
    for (let runs = 0; runs < RUNS_MAX; runs += 1) {
      const deployed = await driver.call(sweeper, deploying(this.#newer))
      if (deployed?.outcome?.kind !== 'success') return
      if (!(deployed.outcome.value as DeployedSchedules).more) break
    }
    // A full queue keeps occurrences waiting: now there is room.
    for (const { queue } of profile.queues) {
      await driver.call(sweeper, { verb: 'configure', queue, request: { capacity: null } })
    }
    const endMs = Math.max(...this.#newer.schedules.map(({ endsAtMs = 0 }) => endsAtMs))
    while (world.scheduler.nowMs < endMs + MINUTE_MS && world.violation === undefined) {
      await driver.call(sweeper, { verb: 'returnExpiredLocks', queue: '' })
      await driver.advance(MINUTE_MS)
    }
    const wanted = this.#newer.schedules.map(({ queue, name }) => `${queue} ${name}`)
    const there = profile.queues.flatMap(({ queue }) =>
      names.flatMap((name) =>
        model.rows.row(`schedules#${queue}`, name) === undefined ? [] : [`${queue} ${name}`],
      ),
    )
    if (there.sort().join() === wanted.sort().join()) return
    world.violated('the newer deployment holds', `${there.join()} in place of ${wanted.join()}`)
  }

  #draw(hash: string, drawn: readonly string[]): Deployment {
    const { random, profile, model, newWriter } = this.#joining
    const startsAtMs = Math.ceil(this.#joining.world.scheduler.nowMs / 1_000) * 1_000
    const schedules = drawn.map((name, at) => {
      const { queue } = profile.queues[at % profile.queues.length] as { readonly queue: string }
      const text = `"deployed ${name}${name === 'changed' ? hash : ''}"`
      model.ledger.announceSchedule(queue, text, ({ dueMs }) => this.#found(text, dueMs))
      const everySeconds = name === 'changed' && hash === 'newer' ? 60 : 45
      return { queue, name, text, everySeconds, startsAtMs, endsAtMs: startsAtMs + 3 * MINUTE_MS }
    })
    const patterns = drawPatterns(profile, random)
    return { hash, schedules, patterns, sweeper: newWriter(hash), runs: 0 }
  }

  #found(text: string, dueMs: number | undefined): void {
    const occurrence = `${text} due ${dueMs}`
    // One that was deleted and comes back begins anew, by a clock that may be behind.
    const mayComeBack = text.includes('dropped')
    if (this.#pushed.has(occurrence) && !mayComeBack) {
      this.#joining.world.violated('a schedule pushes each occurrence once', occurrence)
    }
    this.#pushed.add(occurrence)
  }

  #run(deployment: Deployment): void {
    if (this.#isCalm || deployment.runs === RUNS_MAX) return
    deployment.runs += 1
    const { profile, random, after } = this.#joining
    const { sweeper, hash, patterns } = deployment
    sweeper.run(deploying(deployment), () => {})
    if (profile.patterned) {
      const rest = [patterns, hash]
      sweeper.run({ verb: 'deployPatterns', queue: '', rest } as Command, () => {})
    }
    const withinMs = random.pick([5_000, MINUTE_MS, 5 * MINUTE_MS])
    after(withinMs * random.next(), () => this.#run(deployment))
  }
}

const names = ['kept', 'changed', 'dropped', 'added']

const deploying = ({ schedules, hash }: Deployment): Command =>
  ({ verb: 'deploySchedules', queue: '', rest: [schedules, hash] }) as Command
