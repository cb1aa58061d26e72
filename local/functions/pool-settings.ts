import type { ProcessSettings } from './function-process.ts'

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
