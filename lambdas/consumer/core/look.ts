import { QUEUES_PER_PAGE_MAX } from '../../foundation/shared/bounds.ts'
import type { Which } from './many-options.ts'
import { walkList } from './walk-list.ts'

export type PageRequest = {
  readonly prefix?: string
  readonly ids?: readonly string[]
  readonly limit?: number
  readonly cursor?: string | undefined
}

/** A page of the list of queues. */
export type List = (request: PageRequest) => Promise<{
  readonly queues: readonly Standing[]
  readonly cursor?: string | undefined
}>

export type Look = {
  readonly standings: readonly Standing[]
  /** All queues have been looked at: the next look begins again. */
  readonly endsRound: boolean
}

/** Looks at some of the queues each time, round and round: a page of the list, or a part of the names. */
export function lookerOf(list: List, which: Which): () => Promise<Look> {
  if ('queues' in which) {
    const parts = partsOf(which.queues)
    let next = 0
    return async () => {
      const ids = parts[next] as string[]
      next = (next + 1) % parts.length
      return { standings: (await list({ ids })).queues, endsRound: next === 0 }
    }
  }
  return walkList(list, which.prefix)
}

/** A gateway takes a request line of some 10 KB, and a signature makes the request longer. */
const NAMES_BYTES_MAX = 5_000

function partsOf(queues: readonly string[]): string[][] {
  const parts: string[][] = []
  let bytes = 0
  for (const id of new Set(queues)) {
    const last = parts.at(-1)
    bytes += id.length + 1
    if (last === undefined || bytes > NAMES_BYTES_MAX || last.length === QUEUES_PER_PAGE_MAX) {
      parts.push([id])
      bytes = id.length + 1
    } else last.push(id)
  }
  return parts
}

/** A queue as the list shows it. If the count is missing, its record could not be read just now. */
export type Standing = {
  readonly queue: string
  readonly count?: number | undefined
  readonly lockedCount?: number | undefined
  readonly waitingCount?: number | undefined
  /** Waiting items hold back the others of an exclusive queue. */
  readonly isBlocked?: boolean | undefined
}
