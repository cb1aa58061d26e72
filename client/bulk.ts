// Does one thing to many queues, a few at a time. If a queue fails, it is reported and holds up no other.

import { isDeadLetterQueue } from '../shared/bounds.ts'
import { checkOptions, type Names } from '../shared/options.ts'
import type { BulkOptions, CallOptions, Queue } from './queue.ts'

type Failed = { readonly id: string; readonly kind: 'failed'; readonly error: unknown }
type Done<Answer> = { readonly id: string; readonly kind: 'done' } & Answer
/** The result for one queue. */
export type BulkResult<Answer> = Done<Answer> | Failed

type Purged = { readonly itemsPurged: number }
type Redriven = { readonly itemsRedriven: number; readonly itemsLeft: number }

type ListOptions = CallOptions & { readonly prefix: string; readonly smallerPages?: boolean }

type Queues = {
  queues(options: ListOptions): AsyncIterable<{ readonly id: string }>
  queue(id: string): Pick<Queue, 'purge' | 'redrive'>
}

const names: Names<BulkOptions> = { prefix: 0, atOnce: 0, signal: 0 }

const AT_ONCE = 4
/** What one call of the API moves at most. */
const ITEMS_PER_REDRIVE = 1_000

/** Empties all queues with a prefix, including dead-letter queues; yields the result for each. */
export const purgeQueues = (
  client: Queues,
  options: BulkOptions,
): AsyncGenerator<BulkResult<Purged>> =>
  eachQueue(idsOf(client, options), (id) => client.queue(id).purge(), options)

/** Moves the dead letters of all queues with a prefix back to where they came from. */
export const redriveQueues = (
  client: Queues,
  options: BulkOptions,
): AsyncGenerator<BulkResult<Redriven>> => {
  const redrive = (id: string) =>
    redriveAll((limit) => client.queue(id).redrive({ limit }), options)
  return eachQueue(deadLetterQueues(idsOf(client, options)), redrive, options)
}

async function* idsOf(client: Queues, options: BulkOptions): AsyncGenerator<string> {
  checkOptions(options, names)
  const { prefix } = options
  // If a missing prefix meant all queues, a slip could purge everything.
  if (typeof prefix !== 'string') throw new TypeError('Say which queues: prefix is missing')
  for await (const { id } of client.queues({ prefix, smallerPages: true })) yield id
}

export async function* deadLetterQueues(ids: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const id of ids) if (isDeadLetterQueue(id)) yield id
}

/** If the list breaks off, it first reports the queues under way. */
export async function* eachQueue<Answer extends object>(
  ids: AsyncIterable<string>,
  work: (id: string) => Promise<Answer>,
  { atOnce = AT_ONCE, signal }: Pick<BulkOptions, 'atOnce' | 'signal'>,
): AsyncGenerator<BulkResult<Answer>> {
  const running = new Map<string, Promise<BulkResult<Answer>>>()
  const next = async (): Promise<BulkResult<Answer>> => {
    const result = await Promise.race(running.values())
    running.delete(result.id)
    return result
  }
  let brokenOff: { readonly error: unknown } | undefined
  try {
    for await (const id of ids) {
      if (signal?.aborted) break
      const result = work(id).then(
        (answer): Done<Answer> => ({ id, kind: 'done', ...answer }),
        (error: unknown): Failed => ({ id, kind: 'failed', error }),
      )
      running.set(id, result)
      if (running.size >= atOnce) yield await next()
    }
  } catch (error) {
    brokenOff = { error }
  }
  while (running.size > 0) yield await next()
  if (brokenOff !== undefined) throw brokenOff.error
}

/**
 * Calls again and again until nothing more moves: the rest is locked, or was pushed there by hand. It moves no more
 * items than there were at first: a consumer that fails at once would bring the same ones back again and again.
 */
export async function redriveAll(
  redrive: (limit: number) => Promise<Redriven>,
  {
    limit = Number.POSITIVE_INFINITY,
    signal,
    onMoved = () => {},
  }: {
    readonly limit?: number | undefined
    readonly signal?: AbortSignal | undefined
    readonly onMoved?: (soFar: Redriven) => void
  } = {},
): Promise<Redriven> {
  let soFar: Redriven = { itemsRedriven: 0, itemsLeft: 0 }
  let most = limit
  while (soFar.itemsRedriven < most && !signal?.aborted) {
    const some = Math.min(ITEMS_PER_REDRIVE, most - soFar.itemsRedriven)
    const { itemsRedriven, itemsLeft } = await redrive(some).catch((error: unknown) => {
      throw soFar.itemsRedriven === 0 ? error : afterSome(error, soFar)
    })
    if (soFar.itemsRedriven === 0) most = Math.min(limit, itemsRedriven + itemsLeft)
    soFar = { itemsRedriven: soFar.itemsRedriven + itemsRedriven, itemsLeft }
    onMoved(soFar)
    if (itemsRedriven === 0 || itemsLeft === 0) break
  }
  return soFar
}

/** The call that failed may have changed nothing, but those before it have. */
const afterSome = (error: unknown, { itemsRedriven }: Redriven): unknown =>
  error instanceof Error && 'outcome' in error
    ? Object.assign(error, {
        outcome: 'unknown',
        message: `After ${itemsRedriven} items were moved: ${error.message}`,
      })
    : error
