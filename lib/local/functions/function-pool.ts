// The processes of one function, one event at a time each, as in Lambda. What comes while all are
// busy waits, first in, first out, and only so many.
//
// As many processes as cores are started as soon as there are events for them. More would only take
// the cores from each other (with four on two cores a push costs 1.3 times the processor time), but
// for functions that wait for something themselves; so a further one is started only when an event
// has waited for a while, up to the limit.

import { availableParallelism } from 'node:os'
import type { FunctionPlan } from '../template/plan-functions.ts'
import { FunctionProcess, type ProcessSettings } from './function-process.ts'
import type { Outcome } from './messages.ts'

export type PoolSettings = ProcessSettings & {
  readonly processesMax: number
  readonly waitingMax?: number
  readonly idleMs?: number
  /** How many are started without waiting, and how long an event waits for each beyond them. */
  readonly eager?: number
  readonly patienceMs?: number
  readonly onStart?: (pid: number) => void
  readonly onEnd?: (pid: number) => void
}

/** What an account may run at once unless it asks for more: the next event is throttled there too. */
const WAITING_MAX = 1_000
/** Longer than an event waits for busy processes, shorter than who waits for the answer minds. */
const PATIENCE_MS = 250
/** Long enough for somebody who types one curl after the other. */
const IDLE_MS = 60_000

type Waiting = {
  readonly event: string
  readonly sinceMs: number
  readonly expiresAtMs: number
  readonly resolve: (outcome: Outcome) => void
}

export class FunctionPool {
  readonly plan: FunctionPlan
  readonly processesMax: number
  readonly #settings: PoolSettings
  readonly #waiting: Waiting[] = []
  readonly #processes = new Set<FunctionProcess>()
  /** The one used last is at the end and is used first, so that those not needed stay unused. */
  readonly #idle: { readonly process: FunctionProcess; readonly sinceMs: number }[] = []
  readonly #idleTimer: NodeJS.Timeout
  #patience: NodeJS.Timeout | undefined
  #lastStartMs = 0
  #starting = 0
  #busy = 0
  #stopping = false
  #onQuiet = () => {}

  constructor(settings: PoolSettings) {
    this.#settings = settings
    this.plan = settings.plan
    this.processesMax = Math.min(settings.processesMax, settings.plan.concurrencyMax ?? Infinity)
    const idleMs = settings.idleMs ?? IDLE_MS
    this.#idleTimer = setInterval(() => this.#endIdle(idleMs), idleMs / 4).unref()
  }

  /** How many processes there are. */
  get size(): number {
    return this.#processes.size
  }

  get pids(): number[] {
    return [...this.#processes].flatMap(({ pid }) => pid ?? [])
  }

  /** An event that has not been begun by `expiresAtMs` is dropped: nobody waits for it any more. */
  invoke(event: string, expiresAtMs = Number.POSITIVE_INFINITY): Promise<Outcome> {
    if (this.#stopping || this.#waiting.length >= (this.#settings.waitingMax ?? WAITING_MAX)) {
      return Promise.resolve({ kind: 'throttled' })
    }
    const idle = this.#idle.pop()
    if (idle) {
      return new Promise((resolve) => {
        this.#run(idle.process, event, resolve)
      })
    }
    return new Promise((resolve) => {
      this.#waiting.push({ event, sinceMs: Date.now(), expiresAtMs, resolve })
      this.#startIfNeeded()
    })
  }

  /** Answers nothing new, lets what has begun end within the time, and ends every process. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    clearInterval(this.#idleTimer)
    clearTimeout(this.#patience)
    for (const { resolve } of this.#waiting.splice(0)) resolve({ kind: 'throttled' })
    if (this.#busy > 0) {
      let impatience: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        this.#onQuiet = resolve
        impatience = setTimeout(resolve, graceMs)
      })
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
    const { eager = availableParallelism(), patienceMs = PATIENCE_MS } = this.#settings
    const nowMs = Date.now()
    const waitMs = Math.max(oldest.sinceMs, this.#lastStartMs) + patienceMs - nowMs
    if (this.#processes.size < eager || waitMs <= 0) {
      this.#lastStartMs = nowMs
      this.#start()
      this.#startIfNeeded()
      return
    }
    this.#patience ??= setTimeout(() => {
      this.#patience = undefined
      this.#startIfNeeded()
    }, waitMs)
  }

  #start(): void {
    this.#starting += 1
    const process = new FunctionProcess(this.#settings)
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
      // As in Lambda: who caused the start learns why it failed, and the next event tries again.
      if (problem) this.#waiting.shift()?.resolve(problem)
      else this.#next(process)
    })
  }

  #run(process: FunctionProcess, event: string, resolve: (outcome: Outcome) => void): void {
    this.#busy += 1
    process.invoke(event).then((outcome) => {
      this.#busy -= 1
      resolve(outcome)
      this.#next(process)
      if (this.#busy === 0) this.#onQuiet()
    })
  }

  #next(process: FunctionProcess): void {
    if (!process.isUsable) return
    const waiting = this.#nextWaiting()
    if (waiting) this.#run(process, waiting.event, waiting.resolve)
    else this.#idle.push({ process, sinceMs: Date.now() })
  }

  #nextWaiting(): Waiting | undefined {
    for (;;) {
      const waiting = this.#waiting.shift()
      if (!waiting || waiting.expiresAtMs > Date.now()) return waiting
      waiting.resolve({ kind: 'throttled' })
    }
  }

  /** All but one of those that have had nothing to do; the one spares the next event a start. */
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
