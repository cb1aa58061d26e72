// The processes of one function; each handles one event at a time, as in Lambda. Events that come while
// all are busy wait, first in, first out, up to a limit.
//
// As soon as there are events for them, we start as many processes as there are cores. More would only take
// the cores from each other (with four on two cores a push costs 1.3 times the processor time, and a start
// as much as a hundred), unless the function itself waits for something. So we start a further one only
// when an event has waited for a while, and then only if a core has nothing to do, or too few processes
// are left that do not wait; up to the limit.

import { availableParallelism, cpus } from 'node:os'
import type { FunctionPlan } from '../template/plan-functions.ts'
import { FunctionProcess, type ProcessSettings } from './function-process.ts'
import type { Outcome } from './messages.ts'

export type PoolSettings = ProcessSettings & {
  readonly processesMax: number
  readonly waitingMax?: number | undefined
  readonly idleMs?: number | undefined
  /** How many are started without waiting, and how long an event waits for each beyond them. */
  readonly eager?: number | undefined
  readonly patienceMs?: number | undefined
  /** How many cores have had nothing to do since the last call. */
  readonly spareCores?: (() => number) | undefined
  readonly onStart?: ((pid: number) => void) | undefined
  readonly onEnd?: ((pid: number) => void) | undefined
}

/** How many calls an account may run at once by default: Lambda, too, throttles the next event. */
const WAITING_MAX = 1_000
/** Longer than an event usually waits for busy processes, and short enough for the caller. */
const PATIENCE_MS = 250
/** With less spare capacity, another process would only take time from the others. */
const SPARE_CORES_MIN = 0.5
/** Long enough for somebody who types one curl after the other. */
const IDLE_MS = 60_000

type Waiting = {
  readonly event: string
  readonly expiresAtMs: number
  readonly mayBegin: () => boolean
  readonly resolve: (outcome: Outcome) => void
  readonly sinceMs: number
}

type Busy = { readonly sinceMs: number; readonly isAwaited: boolean; isGivenUp?: true }

export class FunctionPool {
  readonly #settings: PoolSettings
  readonly #waiting: Waiting[] = []
  readonly #processes = new Set<FunctionProcess>()
  /** The one used last is at the end and is used first, so that the others stay unused and can end. */
  readonly #idle: { readonly process: FunctionProcess; readonly sinceMs: number }[] = []
  /** Processes with an event: since when, and whether a caller waits for the answer. */
  readonly #busy = new Map<FunctionProcess, Busy>()
  readonly #idleTimer: NodeJS.Timeout
  readonly #eager: number
  readonly #patienceMs: number
  readonly #spareCores: () => number
  #plan: FunctionPlan
  #patience: NodeJS.Timeout | undefined
  #starting = 0
  /** Why the last process did not start, if it did not. */
  #problem: string | undefined
  #stopping = false
  #onQuiet = () => {}

  constructor(settings: PoolSettings) {
    this.#settings = settings
    this.#plan = settings.plan
    this.#eager = settings.eager ?? availableParallelism()
    this.#patienceMs = settings.patienceMs ?? PATIENCE_MS
    this.#spareCores = settings.spareCores ?? spareCoresMeter()
    const idleMs = settings.idleMs ?? IDLE_MS
    this.#idleTimer = setInterval(() => this.#endIdle(idleMs), idleMs / 4).unref()
  }

  get processesMax(): number {
    return Math.min(this.#settings.processesMax, this.#plan.concurrencyMax ?? Infinity)
  }

  get plan(): FunctionPlan {
    return this.#plan
  }

  /**
   * From now on, events run by the new plan. The old plan still answers requests that have begun; it gives back any
   * other event (a consumer's run may take minutes). Resolves when the processes of those events are gone.
   */
  async replace(plan: FunctionPlan): Promise<void> {
    this.#plan = plan
    this.#problem = undefined
    const ending = this.#idle.splice(0).map(({ process }) => process)
    for (const [process, busy] of this.#busy) {
      if (busy.isAwaited) continue
      busy.isGivenUp = true
      ending.push(process)
    }
    for (const process of ending) process.kill()
    await Promise.all(ending.map((process) => process.ended))
  }

  /** How many processes there are. */
  get size(): number {
    return this.#processes.size
  }

  get pids(): number[] {
    return [...this.#processes].flatMap(({ pid }) => pid ?? [])
  }

  /** Whether a process has an event, and will not be killed for a new plan. */
  get isAtWork(): boolean {
    return [...this.#busy.keys()].some(({ isUsable }) => isUsable)
  }

  /**
   * Drops an event that has not begun by `expiresAtMs`: nobody waits for it any more. Gives it back if it may not
   * begin when its turn comes.
   */
  invoke(
    event: string,
    expiresAtMs = Number.POSITIVE_INFINITY,
    mayBegin = () => true,
  ): Promise<Outcome> {
    if (this.#stopping || this.#waiting.length >= (this.#settings.waitingMax ?? WAITING_MAX)) {
      return Promise.resolve({ kind: 'throttled' })
    }
    return new Promise((resolve) => {
      this.#waiting.push({ event, expiresAtMs, mayBegin, resolve, sinceMs: Date.now() })
      const idle = this.#idle.pop()
      if (idle) this.#next(idle.process)
      else this.#startIfNeeded()
    })
  }

  /** Accepts no more events, lets those that have begun end within the time, and ends every process. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    clearInterval(this.#idleTimer)
    clearTimeout(this.#patience)
    for (const { resolve } of this.#waiting.splice(0)) resolve({ kind: 'throttled' })
    if (this.#busy.size > 0) {
      for (const process of this.#busy.keys()) process.endSoon(Date.now() + graceMs)
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#onQuiet = resolve
      const impatience = setTimeout(resolve, graceMs)
      await promise
      clearTimeout(impatience)
    }
    const processes = [...this.#processes]
    for (const process of processes) process.kill()
    await Promise.all(processes.map((process) => process.ended))
  }

  #startIfNeeded(): void {
    const oldest = this.#waiting[0]
    if (this.#stopping || !oldest || this.#starting >= this.#waiting.length) return
    if (this.#processes.size >= this.processesMax) return
    if (this.#processes.size < this.#eager) {
      this.#start()
      this.#startIfNeeded()
      return
    }
    if (this.#patience) return
    // Counted from now on.
    this.#spareCores()
    this.#patience = setTimeout(() => this.#endPatience(), this.#patienceMs)
  }

  #endPatience(): void {
    this.#patience = undefined
    const oldest = this.#waiting[0]
    const hasWaited = oldest && Date.now() - oldest.sinceMs >= this.#patienceMs
    if (hasWaited && this.#processes.size < this.#processesWanted()) this.#start()
    this.#startIfNeeded()
  }

  #processesWanted(): number {
    if (this.#spareCores() >= SPARE_CORES_MIN) return this.processesMax
    // A process that has had one event for so long is waiting for something itself.
    const longAgo = Date.now() - this.#patienceMs
    const waiting = [...this.#busy.values()].filter(({ sinceMs }) => sinceMs <= longAgo)
    return Math.min(this.processesMax, this.#eager + waiting.length)
  }

  #start(): void {
    this.#starting += 1
    const process = new FunctionProcess({ ...this.#settings, plan: this.#plan })
    this.#processes.add(process)
    const { pid } = process
    if (pid !== undefined) this.#settings.onStart?.(pid)
    process.ended.then(() => {
      this.#processes.delete(process)
      if (pid !== undefined) this.#settings.onEnd?.(pid)
      const at = this.#idle.findIndex((idle) => idle.process === process)
      if (at >= 0) this.#idle.splice(at, 1)
      this.#startIfNeeded()
    })
    process.started.then((problem) => {
      this.#starting -= 1
      // A problem with the old code need not exist in the new code, and a process that a stop killed had none.
      if (problem && process.plan === this.#plan && !this.#stopping) this.#fail(problem)
      else this.#next(process)
    })
  }

  /** As in Lambda: the event that caused the start gets the failure, and the next event tries again. */
  #fail(problem: Outcome): void {
    const payload = problem.kind === 'failed' ? problem.payload : ''
    if (payload !== this.#problem) {
      const text = `Init Error ${payload}`
      this.#settings.onOutput({ functionId: this.#plan.id, stream: 'stderr', text })
    }
    this.#problem = payload
    this.#waiting.shift()?.resolve(problem)
  }

  #run(process: FunctionProcess, { event, expiresAtMs, resolve }: Waiting): void {
    const busy: Busy = { sinceMs: Date.now(), isAwaited: Number.isFinite(expiresAtMs) }
    this.#busy.set(process, busy)
    process.invoke(event).then((outcome) => {
      this.#busy.delete(process)
      // It did not fail but ended with its code, and that must not count against the event.
      resolve(busy.isGivenUp && outcome.kind === 'failed' ? { kind: 'throttled' } : outcome)
      this.#next(process)
      if (this.#busy.size === 0) this.#onQuiet()
    })
  }

  #next(process: FunctionProcess): void {
    if (!process.isUsable) return
    if (process.plan !== this.#plan) {
      process.kill()
      return
    }
    this.#problem = undefined
    const waiting = this.#nextWaiting()
    if (waiting) this.#run(process, waiting)
    else this.#idle.push({ process, sinceMs: Date.now() })
  }

  #nextWaiting(): Waiting | undefined {
    for (;;) {
      const waiting = this.#waiting.shift()
      if (!waiting || (waiting.expiresAtMs > Date.now() && waiting.mayBegin())) return waiting
      waiting.resolve({ kind: 'throttled' })
    }
  }

  /** Ends all but one of the idle processes; that one spares the next event a start. */
  #endIdle(idleMs: number): void {
    const longAgo = Date.now() - idleMs
    while (this.#processes.size > 1) {
      const oldest = this.#idle[0]
      if (!oldest || oldest.sinceMs > longAgo) return
      this.#idle.shift()
      this.#processes.delete(oldest.process)
      oldest.process.kill()
    }
  }
}

type Times = { readonly idleMs: number; readonly totalMs: number; readonly cores: number }

/** Since the last call; none at the first. */
export function spareCoresMeter(times: () => Times = timesOfAll): () => number {
  let before: Times | undefined
  return () => {
    const now = times()
    const { idleMs, totalMs } = before ?? now
    before = now
    // Before the system's clock has ticked we know nothing.
    const passedMs = now.totalMs - totalMs
    return passedMs > 0 ? (now.cores * (now.idleMs - idleMs)) / passedMs : 0
  }
}

function timesOfAll(): Times {
  const all = cpus()
  let idleMs = 0
  let totalMs = 0
  for (const { times } of all) {
    idleMs += times.idle
    totalMs += times.idle + times.user + times.nice + times.sys + times.irq
  }
  return { idleMs, totalMs, cores: all.length }
}
