// How many cores have had nothing to do.

import { cpus } from 'node:os'

export type Times = { readonly idleMs: number; readonly totalMs: number; readonly cores: number }

/** Since it was asked before; none the first time. */
export function spareCoresMeter(times: () => Times = timesOfAll): () => number {
  let before: Times | undefined
  return () => {
    const now = times()
    const { idleMs, totalMs } = before ?? now
    before = now
    // Without a tick of the system's clock nothing is known.
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
