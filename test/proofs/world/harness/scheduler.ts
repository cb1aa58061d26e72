import '../../../support/engine-loaded.ts'
import { Heap } from '../../../../testing/simulated/virtual-time.ts'

/**
 * Virtual time. Every request, answer and sleep is an event; ties are broken by the seed. After an
 * event that may have woken an engine all microtasks drain before the next one, so that the order
 * of everything follows from the seed alone.
 */
export class Scheduler {
  readonly #events = new Heap<Event>(isBefore)
  #sequence = 0
  nowMs: number
  steps = 0

  constructor(startMs: number) {
    this.nowMs = startMs
  }

  /** `wakes`: the event may settle a promise that an engine waits for. */
  at(timeMs: number, tie: number, wakes: boolean, run: () => void): void {
    this.#sequence += 1
    const sequence = this.#sequence
    this.#events.push({ timeMs: Math.max(timeMs, this.nowMs), tie, sequence, wakes, run })
  }

  /** Runs events until `done`, or none are left, or too many have been run. */
  run(done: () => boolean, stepsMax: number): Promise<RunEnd> {
    const last = this.steps + stepsMax
    return new Promise((resolve, reject) => {
      const turn = (): void => {
        try {
          const end = this.#runUntilWoken(done, last)
          if (end === 'woken') onceSettled(turn)
          else resolve(end)
        } catch (error) {
          reject(error)
        }
      }
      onceSettled(turn)
    })
  }

  #runUntilWoken(done: () => boolean, last: number): RunEnd | 'woken' {
    while (!done()) {
      if (this.steps >= last) return 'too many steps'
      const event = this.#events.pop()
      if (event === undefined) return 'idle'
      this.steps += 1
      this.nowMs = event.timeMs
      event.run()
      if (event.wakes) return 'woken'
    }
    return 'done'
  }
}

/** After all microtasks, and those that they start. A turn of the real event loop would do, but it asks the system each time. */
const onceSettled = (act: () => void): void => queueMicrotask(() => process.nextTick(act))

type RunEnd = 'done' | 'idle' | 'too many steps'

type Event = {
  readonly timeMs: number
  readonly tie: number
  readonly sequence: number
  readonly wakes: boolean
  readonly run: () => void
}

const isBefore = (a: Event, b: Event): boolean =>
  (a.timeMs - b.timeMs || a.tie - b.tie || a.sequence - b.sequence) < 0
