import { QUEUES_PER_PAGE_MAX } from '../../foundation/shared/bounds.ts'
import { isDeadLetterQueue } from '../../foundation/shared/queue-id.ts'
import type { Which } from './many-options.ts'
import { mayPass } from './refusal.ts'
import type { Standing } from './rota.ts'

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

/** A page that fails so often in a row must not hold up those before it. */
const PAGE_TRIES_MAX = 5

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
  const { prefix } = which
  let cursor: string | undefined
  let failures = 0
  return async () => {
    try {
      const page = await list({ prefix, limit: QUEUES_PER_PAGE_MAX, cursor })
      cursor = page.cursor
      failures = 0
      const standings = page.queues.filter(({ queue }) => !isDeadLetterQueue(queue))
      return { standings, endsRound: cursor === undefined }
    } catch (error) {
      failures += 1
      const isRefused = cursor !== undefined && !mayPass(error)
      // The same page next time: one that fails now and then must not hide those behind it.
      if (isRefused || failures >= PAGE_TRIES_MAX) {
        cursor = undefined
        failures = 0
      }
      // It may be the cursor that is refused. The first page will tell.
      if (isRefused) return { standings: [], endsRound: true }
      throw error
    }
  }
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
