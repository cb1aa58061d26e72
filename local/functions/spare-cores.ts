// How many cores have had nothing to do.

import { cpus } from 'node:os'

export type Times = { readonly idleMs: number; readonly totalMs: number; readonly cores: number }

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
