import { deadLetterQueues, redriveAll } from '../../client/bulk.ts'
import { deadLetterQueueOf, isDeadLetterQueue, originOf } from '../../shared/bounds.ts'
import { idsGiven, idsOption } from '../arguments/item-ids.ts'
import { integer, text } from '../arguments/option-table.ts'
import { oneOf, queueOrPrefix } from '../arguments/queue-or-prefix.ts'
import { type Context, command } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { interrupted, wrongUsage } from '../failure.ts'
import { idsOf, overPrefix } from '../queues/over-prefix.ts'
import type { Target } from '../target/target.ts'
import { counted } from '../terminal/amounts.ts'
import { progressBarOn } from '../terminal/progress-bar.ts'

const LIMIT_MAX = 1_000_000_000

const options = {
  limit: integer('N', 1, LIMIT_MAX, 'how many at most; with --prefix, of each queue'),
  ids: idsOption('only these items, up to 100; with a queue, and without --limit'),
  prefix: text('P', 'the dead letters of all queues whose ids begin with P'),
} as const

type Run = Context<typeof options>

export const redrive = command({
  name: 'redrive',
  summary: 'Moves dead-lettered items back to the queue they came from',
  words: [queueOrPrefix],
  options,
  notes: [
    'QUEUE is the dead-letter queue or the one it belongs to. Items go to the end of their priority,\n' +
      'in order. Locked ones stay, and so do items that were pushed to the dead-letter queue by hand.\n' +
      'With --prefix it goes on if a queue fails, and says which.',
  ],
  examples: [
    'pushpop redrive orders',
    'pushpop redrive orders-deadletter --limit 10',
    'pushpop redrive orders --ids x7Gh2kQz-0-2s',
    'pushpop redrive --prefix tenant-7.',
  ],
  async run(context): Promise<ExitCode> {
    const { given, words, target } = context
    const which = oneOf('redrive', words, given.prefix)
    if (given.ids !== undefined && (which.kind === 'prefix' || given.limit !== undefined)) {
      throw wrongUsage('Cannot redrive because --ids goes with a queue, and without --limit')
    }
    const queues = await target()
    if (which.kind === 'queue') return redriveOne(context, queues, which.name)
    return overPrefix(context, {
      prefix: which.name,
      label: 'Redriving',
      nothing: 'no dead-letter queue',
      queues: deadLetterQueues(idsOf(queues.queues({ prefix: which.name }))),
      work: (queue) => redriveFrom(context, queues, queue),
      lineOf,
      itemsOf: ({ itemsRedriven }) => itemsRedriven,
      sentence: (items, some) => `Moved ${items} back from ${some}`,
    })
  },
})

const redriveFrom = (
  { given: { limit }, interrupt }: Run,
  queues: Target,
  queue: string,
  onMoved?: (soFar: Redriven) => void,
): Promise<Redriven> =>
  redriveAll((some) => queues.redrive(queue, { limit: some }), {
    limit,
    signal: interrupt,
    ...(onMoved !== undefined && { onMoved }),
  })

async function redriveOne(context: Run, queues: Target, word: string): Promise<ExitCode> {
  const { given, io, isJson, interrupt, print, tell } = context
  const queue = isDeadLetterQueue(word) ? word : deadLetterQueueOf(word)
  const bar = progressBarOn(io.stderr, 'Redriving')
  const ids = idsGiven(given.ids)
  const moved =
    ids === undefined
      ? await redriveFrom(context, queues, queue, ({ itemsRedriven: some, itemsLeft }) =>
          bar.at(some, some + itemsLeft, counted(some, 'item')),
        ).finally(() => bar.clear())
      : await queues.redrive(queue, { ids })
  const { itemsRedriven, itemsLeft } = moved
  const sentence = `Moved ${counted(itemsRedriven, 'item')} back to ${originOf(queue)}`
  if (interrupt.aborted) throw interrupted(`Stopped. ${sentence}.`)
  if (isJson) await print(JSON.stringify(lineOf(queue, moved)))
  else if (itemsRedriven + itemsLeft === 0) {
    // The service cannot tell the two apart, because it forgets empty queues.
    tell(`${sentence}: ${queue} is empty, or there is no such queue.`)
  } else {
    const isLimit = given.limit !== undefined && itemsRedriven >= given.limit
    const why = isLimit || ids !== undefined ? '' : ' (locked, pushed there by hand, or new)'
    tell(
      itemsLeft === 0 ? `${sentence}.` : `${sentence}; ${counted(itemsLeft, 'item')} left${why}.`,
    )
  }
  return exitCodes.done
}

type Redriven = { readonly itemsRedriven: number; readonly itemsLeft: number }

const lineOf = (queue: string, { itemsRedriven, itemsLeft }: Redriven) => ({
  queue,
  items_redriven: itemsRedriven,
  items_left: itemsLeft,
})
