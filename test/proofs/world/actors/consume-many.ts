import { late, standingOf } from '../../../../lambdas/consumer/run-queue.ts'
import { workMany } from '../../../../shared/worker/many.ts'
import type { Handler } from '../../../../shared/worker/run.ts'
import {
  lookerOf,
  type ManyOptions,
  manySettingsOf,
} from '../../../../shared/worker/which-queues.ts'
import { checkIdle, checkTurns } from '../checkers/check-consumers.ts'
import type { Joining, Part } from '../harness/actor.ts'
import { handlerOf } from './consumer.ts'

/** So that a seed has no more looks than operations of callers. */
const LIFE_MS_MAX = 20_000
const LIVES_MAX = 4
const IDLE_MS = 40_000

/** A process that works all queues of the callers: it lives for a while, and dies, or stops and gives back. */
export function consumeMany({ random, profile, world, driver, newWriter, after }: Joining): Part {
  const { scheduler, history, statistics } = world
  const writer = newWriter('many')
  const slowMs = random.pick([0, 50, 500, 15_000])
  const failing = random.pick([0, 0, 0.2])
  // One that stops leaves items behind, and its last acknowledgement is no event.
  world.workedBy.clear()
  const all = random.chance(0.3)
    ? { queues: profile.queues.map(({ queue }) => queue) }
    : { prefix: 'q' }
  const usual: ManyOptions = {
    queuesAtOnce: random.pick([1, 2, 10]),
    batchSize: random.pick([1, 3, 10]),
    lockTtlSeconds: random.pick([5, 30]),
    maxDeliveries: random.pick([undefined, 3]),
    competing: random.chance(0.4),
    idleMsMax: random.pick([500, 5_000]),
  }
  const usually = handlerOf(
    random,
    (share) => writer.sleep(share * slowMs),
    () => (world.isCalm ? 0 : failing),
  )
  let stop = new AbortController()
  let isAtWork = false
  let lives = 0

  const work = (which: Parameters<typeof lookerOf>[1], options: ManyOptions, handler: Handler) => {
    const { life } = writer
    const its = new AbortController()
    stop = its
    isAtWork = true
    const halt = (): void => {
      if (its !== stop || !isAtWork || world.isCalm) return
      if (random.chance(0.5)) its.abort()
      else writer.crash()
    }
    const queues = writer.asQueues()
    history.add(life.name, () => `works many: ${JSON.stringify({ ...which, ...options })}`)
    if (!world.isCalm) after(LIFE_MS_MAX * random.next(), halt)
    workMany(
      manySettingsOf(options),
      handler,
      {
        queues,
        look: lookerOf(async (request) => {
          const page = await queues.list({ ...request, detail: true })
          return { queues: page.queues.map(standingOf), cursor: page.cursor }
        }, which),
        clock: { nowMs: () => scheduler.nowMs, sleep: (ms, signal) => writer.sleep(ms, signal) },
        random: () => random.next(),
        newKey: () => `${life.name}-${random.next()}`,
        late,
        report: ({ kind }) => statistics.count(`path told of ${kind} by a worker`),
      },
      { stop: its.signal, graceOver: new AbortController().signal, halt: () => its.abort() },
    ).then(
      () => {
        history.add(life.name, () => 'works no more')
        isAtWork = false
        workAgain(10_000)
      },
      (error: unknown) => world.violated('a consumer goes on', `${life.name}: ${error}`),
    )
  }
  const workAgain = (withinMs: number): void =>
    after(withinMs * random.next(), () => {
      if (world.isCalm || lives === LIVES_MAX) return
      lives += 1
      work(all, usual, usually)
    })
  writer.onCrash = () => {
    isAtWork = false
    workAgain(2_000)
  }

  return {
    start: () => workAgain(5_000),
    stop: () => stop.abort(),
    /** Without faults: all have their turns, and with nothing to do it hardly asks. */
    async settle() {
      const queues = ['turn-a', 'turn-b', 'turn-c']
      for (const queue of queues) {
        const items = Array.from({ length: 12 }, (_, n) => ({ text: `"${queue} ${n}"` }))
        const other = newWriter(`${queue}s`)
        // Not those of a pattern for all queues.
        await driver.call(other, { verb: 'configure', queue, request: { segmentSize: 100 } })
        await driver.call(other, { verb: 'push', queue, request: { items } })
      }
      const called = new Map<string, number[]>()
      let handled = 0
      const options = { queuesAtOnce: 1, batchSize: 1, idleMsMax: 5_000 }
      work({ queues }, options, async (_, { queue }) => {
        handled += 1
        called.set(queue, [...(called.get(queue) ?? []), scheduler.nowMs])
        await writer.sleep(500)
      })
      const sinceMs = scheduler.nowMs
      await driver.until(() => handled === 36 || scheduler.nowMs > sinceMs + 300_000)
      checkTurns(world, called, sinceMs)
      // The last pause of before is over.
      await driver.advance(IDLE_MS / 2)
      const looks = () => statistics.get('operation list success')
      const before = looks()
      await driver.advance(IDLE_MS)
      checkIdle(world, looks() - before, IDLE_MS)
      stop.abort()
      await driver.settle()
      if (isAtWork) world.violated('who stops comes to an end', writer.life.name)
    },
  }
}
