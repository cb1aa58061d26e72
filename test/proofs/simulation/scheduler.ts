/**
 * Virtual time. Every request, answer and sleep is an event; ties are broken by the seed. After an
 * event that may have woken an engine all microtasks drain before the next one, so that the order
 * of everything follows from the seed alone.
 */
export class Scheduler {
  #heap: Event[] = []
  #sequence = 0
  nowMs: number
  steps = 0

  constructor(startMs: number) {
    this.nowMs = startMs
  }

  /** `wakes`: the event may settle a promise that an engine waits for. */
  at(timeMs: number, tie: number, wakes: boolean, run: () => void): void {
    this.#sequence += 1
    const event = {
      timeMs: Math.max(timeMs, this.nowMs),
      tie,
      sequence: this.#sequence,
      wakes,
      run,
    }
    siftUp(this.#heap, event)
  }

  /** Runs events until `done`, or none are left, or too many have been run. */
  run(done: () => boolean, stepsMax: number): Promise<RunEnd> {
    const last = this.steps + stepsMax
    return new Promise((resolve, reject) => {
      const turn = (): void => {
        try {
          const end = this.#runUntilWoken(done, last)
          if (end === 'woken') setImmediate(turn)
          else resolve(end)
        } catch (error) {
          reject(error)
        }
      }
      setImmediate(turn)
    })
  }

  #runUntilWoken(done: () => boolean, last: number): RunEnd | 'woken' {
    while (!done()) {
      if (this.steps >= last) return 'too many steps'
      const event = takeFirst(this.#heap)
      if (event === undefined) return 'idle'
      this.steps += 1
      this.nowMs = event.timeMs
      event.run()
      if (event.wakes) return 'woken'
    }
    return 'done'
  }
}

export type RunEnd = 'done' | 'idle' | 'too many steps'

type Event = {
  readonly timeMs: number
  readonly tie: number
  readonly sequence: number
  readonly wakes: boolean
  readonly run: () => void
}

const before = (a: Event, b: Event): boolean =>
  a.timeMs !== b.timeMs
    ? a.timeMs < b.timeMs
    : a.tie !== b.tie
      ? a.tie < b.tie
      : a.sequence < b.sequence

function siftUp(heap: Event[], event: Event): void {
  let at = heap.length
  heap.push(event)
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (!before(event, heap[parent] as Event)) break
    heap[at] = heap[parent] as Event
    at = parent
  }
  heap[at] = event
}

function takeFirst(heap: Event[]): Event | undefined {
  const first = heap[0]
  const last = heap.pop()
  if (first === undefined || last === undefined || heap.length === 0) return first
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    if (child >= heap.length) break
    const right = child + 1
    if (right < heap.length && before(heap[right] as Event, heap[child] as Event)) child = right
    if (!before(heap[child] as Event, last)) break
    heap[at] = heap[child] as Event
    at = child
  }
  heap[at] = last
  return first
}
