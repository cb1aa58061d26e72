import { queueOfRecordKey } from '../../../../engine/core/keys.ts'
import type { Joining, Part } from '../harness/actor.ts'
import { inLife, sendEvent } from '../harness/world.ts'
import type { Writer } from './callers/writer.ts'

/** As the stack asks of Lambda. After that the event counts as failed, and a later change or the sweep brings another. */
const RETRIES_MAX = 5

/**
 * The stream and its reader: a change whose new image has `work` makes it housekeep that queue.
 * Events come late, out of order, more than once, or never.
 */
export function housekeeper({ world, newWriter }: Joining): Part {
  const writer = newWriter('stream')
  const waiting = new Set<string>()
  const busy = new Set<string>()
  /** How often in a row the process died over a queue. */
  const deaths = new Map<string, number>()
  const next = (queue: string): void => {
    if (busy.has(queue) || !waiting.delete(queue)) return
    busy.add(queue)
    writer.run({ verb: 'housekeep', queue, request: { leaveStuck: true } }, () => {
      busy.delete(queue)
      deaths.delete(queue)
      next(queue)
    })
  }
  const come = (queue: string, afterMs: number): void =>
    inLife(world, writer.life, world.scheduler.nowMs + afterMs, () => {
      waiting.add(queue)
      next(queue)
    })
  writer.onCrash = () => {
    for (const queue of busy) {
      const times = (deaths.get(queue) ?? 0) + 1
      if (times <= RETRIES_MAX) waiting.add(queue)
      deaths.set(queue, times <= RETRIES_MAX ? times : 0)
    }
    busy.clear()
    for (const queue of waiting) come(queue, 100)
  }
  return {
    observe(change) {
      if (change.newItem?.work === undefined || !change.pk.startsWith('q#')) return
      sendEvent(world, change, (afterMs) => come(queueOfRecordKey(change.pk), afterMs))
    },
    rest: () => void writer.run({ verb: 'returnExpiredLocks', queue: '' }),
  }
}

const MINUTE_MS = 60_000
/** A rest of hours has no more sweeps than its own: nothing happens between them. */
const SWEEPS_MAX = 12
/** Each look of Wake asks all 16 shards: as many as a hundred operations of callers. */
const WAKES_MAX = 5

/** What the deployed stack does by itself: the minute's sweep, and Wake, which the sweep and the stream call. */
export function upkeep({ world, newWriter, random, after }: Joining): Part {
  const wakes = random.chance(0.4)
  const sweeper = newWriter('sweeper')
  const wakers: Writer[] = []
  const wakeMs = random.pick([3_000, 10_000, 40_000])
  let sweeps = 0
  let woken = 0
  const sweep = (): void => {
    if (world.isCalm || sweeps === SWEEPS_MAX) return
    sweeps += 1
    const request = wakes ? { onNext: wake } : {}
    sweeper.run({ verb: 'returnExpiredLocks', queue: '', request })
    after(MINUTE_MS, sweep)
  }
  const wake = (untilMs: number): void => {
    if (world.isCalm || woken === WAKES_MAX) return
    woken += 1
    const waker = wakers.shift() ?? newWriter(`wake${woken}`)
    const request = { untilMs, deadlineMs: Math.floor(world.scheduler.nowMs) + wakeMs }
    after(50 + 600 * random.next(), () =>
      waker.run({ verb: 'wake', queue: '', request }, () => wakers.push(waker)),
    )
  }
  return {
    start: () => after(random.next() * MINUTE_MS, sweep),
    /** A timer has become near: its flag is new in this write. */
    observe(change) {
      const { oldItem, newItem } = change
      if (!wakes || world.isCalm || newItem?.wk === undefined || oldItem?.wk !== undefined) return
      const untilMs = Number(newItem.checkAt)
      sendEvent(world, change, (afterMs) => after(afterMs + 1_000, () => wake(untilMs)))
    },
  }
}
