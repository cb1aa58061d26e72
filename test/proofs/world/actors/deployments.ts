import type { DeployedSchedules } from '../../../../engine/queues.ts'
import type { Joining, Part } from '../harness/actor.ts'
import type { Command } from './callers/command.ts'
import { drawPatterns } from './callers/profile.ts'

const MINUTE_MS = 60_000
const RUNS_MAX = 8

/** Sweepers of two deployments, the older of which may come last: each brings its own schedules and patterns. */
export function deployments(joining: Joining): Part {
  const { random, profile, world, model, newWriter, driver, after } = joining
  const pushed = new Set<string>()
  const draw = (hash: string, names: readonly string[]) => {
    const startsAtMs = Math.ceil(world.scheduler.nowMs / 1_000) * 1_000
    const schedules = names.map((name, at) => {
      const { queue } = profile.queues[at % profile.queues.length] as { readonly queue: string }
      const text = `"deployed ${name}${name === 'changed' ? hash : ''}"`
      model.ledger.announceSchedule(queue, text, ({ dueMs }) => found(text, dueMs))
      const everySeconds = name === 'changed' && hash === 'newer' ? 60 : 45
      return { queue, name, text, everySeconds, startsAtMs, endsAtMs: startsAtMs + 3 * MINUTE_MS }
    })
    const patterns = drawPatterns(profile, random)
    const deploy = { verb: 'deploySchedules', queue: '', rest: [schedules, hash] } as Command
    return { hash, schedules, patterns, deploy, sweeper: newWriter(hash), runs: 0 }
  }
  const found = (text: string, dueMs: number | undefined): void => {
    const occurrence = `${text} due ${dueMs}`
    // What one deployment has alone, the other deletes. If it comes back, it begins anew, by a clock that may be behind.
    if (pushed.has(occurrence) && !/dropped|added/.test(text)) {
      world.violated('a schedule pushes each occurrence once', occurrence)
    }
    pushed.add(occurrence)
  }
  const older = draw('older', ['kept', 'changed', 'dropped'])
  const newer = draw('newer', ['kept', 'changed', 'added'])
  const run = (deployment: typeof older): void => {
    if (world.isCalm || deployment.runs === RUNS_MAX) return
    deployment.runs += 1
    const { sweeper, hash, patterns, deploy } = deployment
    sweeper.run(deploy)
    if (profile.patterned) {
      sweeper.run({ verb: 'deployPatterns', queue: '', rest: [patterns, hash] } as Command)
    }
    const withinMs = random.pick([5_000, MINUTE_MS, 5 * MINUTE_MS])
    after(withinMs * random.next(), () => run(deployment))
  }
  return {
    start() {
      run(older)
      after(40_000 * random.next(), () => run(newer))
    },
    /** The newer one looks again, as every sweeper does five minutes after it has started. */
    async settle() {
      const { sweeper, deploy, schedules } = newer
      for (let runs = 0; runs < RUNS_MAX; runs += 1) {
        const deployed = await driver.call(sweeper, deploy)
        if (deployed?.outcome?.kind !== 'success') return
        if (!(deployed.outcome.value as DeployedSchedules).more) break
      }
      const queues = profile.queues.map(({ queue }) => queue)
      await driver.makeRoom(sweeper, queues)
      const endMs = Math.max(...schedules.map(({ endsAtMs }) => endsAtMs))
      await driver.sweepUntil(sweeper, endMs + MINUTE_MS, MINUTE_MS)
      const wanted = schedules.map(({ queue, name }) => `${queue} ${name}`)
      const isThere = (queue: string, name: string) => model.rows.row(`schedules#${queue}`, name)
      const there = queues.flatMap((queue) =>
        names.filter((name) => isThere(queue, name)).map((name) => `${queue} ${name}`),
      )
      if (there.sort().join() === wanted.sort().join()) return
      world.violated('the newer deployment holds', `${there.join()} in place of ${wanted.join()}`)
    },
  }
}

const names = ['kept', 'changed', 'dropped', 'added']
