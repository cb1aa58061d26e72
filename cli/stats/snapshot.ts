import { isDeadLetterQueue } from '../../shared/bounds.ts'
import { present } from '../../shared/wire.ts'
import type { Listed, State, Target } from '../target/target.ts'

export type Snapshot = {
  readonly states: readonly State[]
  /** Queues whose state could not be read just now: they hide no others. */
  readonly unread: readonly Unread[]
  /** There are more queues than the caller asked for. */
  readonly isMore: boolean
  /** How many queues we looked at, if there are more: the sorting has not seen those. */
  readonly unseenAfter?: number
}

type Unread = { readonly queue: string; readonly error: unknown }
type Inspected = Pick<Snapshot, 'states' | 'unread'>

/** Requests at once: a screenful of queues in a moment, and nothing that anybody would notice. */
const AT_ONCE = 8
/** What only the states tell takes a request for each queue: a thousand of them are seconds, and less than a cent. */
const SORTED_MAX = 1_000
const LISTED_MAX = 100_000

/** What queues can be sorted by, the most urgent first. */
const weights = {
  oldest: ({ oldestPushedAtMs = Number.MAX_SAFE_INTEGER }: State) => -oldestPushedAtMs,
  count: ({ count }: State) => count,
  locked: ({ lockedCount }: State) => lockedCount,
  dead: deadLettersIn,
} as const

/** Those of these that the list of queues knows as well: then only the queues that are shown take a request each. */
const listWeights: Readonly<Partial<Record<SortedBy, (one: Listed) => number>>> = {
  count: ({ count = 0 }) => count,
  dead: deadLettersIn,
}

/** Dead letters are the items of dead-letter queues. */
function deadLettersIn({ queue, count = 0 }: Listed): number {
  return isDeadLetterQueue(queue) ? count : 0
}

export type SortedBy = keyof typeof weights
export const sortings = Object.keys(weights) as readonly SortedBy[]

/** The state of these queues, or of all that begin with `prefix`, by name. */
export async function snapshotOf(
  target: Target,
  {
    queues,
    prefix,
    limit,
    sort,
  }: {
    readonly queues: readonly string[]
    readonly prefix: string | undefined
    readonly limit: number
    readonly sort?: SortedBy | undefined
  },
): Promise<Snapshot> {
  if (queues.length > 0) {
    return { ...sorted(await inspectAll(target, queues), sort), isMore: false }
  }
  if (sort !== undefined) return sortedSnapshot(target, { prefix, limit, sort })
  const names: string[] = []
  let isMore = false
  for await (const { queue } of target.queues({ prefix })) {
    isMore = names.length === limit
    if (isMore) break
    names.push(queue)
  }
  return { ...(await inspectAll(target, names)), isMore }
}

async function sortedSnapshot(
  target: Target,
  {
    prefix,
    limit,
    sort,
  }: { readonly prefix: string | undefined; readonly limit: number; readonly sort: SortedBy },
): Promise<Snapshot> {
  let listed: Listed[] = []
  const weight = listWeights[sort]
  const most = weight === undefined ? SORTED_MAX : LISTED_MAX
  let unseenAfter: number | undefined
  for await (const one of target.queues({ prefix })) {
    if (listed.length === most) {
      unseenAfter = most
      break
    }
    listed.push(one)
  }
  if (sort === 'dead') listed = listed.filter(mayHaveDeadLetters)
  if (weight !== undefined) listed.sort((a, b) => weight(b) - weight(a)).splice(limit + 1)
  const names = listed.map(({ queue }) => queue)
  const { states, unread } = sorted(await inspectAll(target, names), sort)
  const isMore = states.length > limit
  return present({ states: states.slice(0, limit), unread, isMore, unseenAfter })
}

/** One without a count could not be read just now. */
const mayHaveDeadLetters = ({ queue, count }: Listed): boolean =>
  isDeadLetterQueue(queue) && count !== 0

const sorted = ({ states, unread }: Inspected, by: SortedBy | undefined): Inspected => ({
  states: by === undefined ? states : states.toSorted((a, b) => weights[by](b) - weights[by](a)),
  unread,
})

async function inspectAll(target: Target, queues: readonly string[]): Promise<Inspected> {
  const states: State[] = []
  const unread: Unread[] = []
  for (let at = 0; at < queues.length; at += AT_ONCE) {
    const some = queues.slice(at, at + AT_ONCE)
    const asked = some.map((queue) => target.inspect(queue, { oldest: true }))
    const failed: Unread[] = []
    for (const [index, answer] of (await Promise.allSettled(asked)).entries()) {
      if (answer.status === 'fulfilled') states.push(answer.value)
      else failed.push({ queue: some[index] as string, error: answer.reason })
    }
    // The service is out of reach, and the others would have to wait for the same error.
    if (failed.length === AT_ONCE) throw failed[0]?.error
    unread.push(...failed)
  }
  if (states.length === 0 && unread.length > 0) throw unread[0]?.error
  return { states, unread }
}
