// `purge` and `redrive`: for one queue, or with `--prefix` for all that begin so, a few at a time. A queue that fails
// is reported, and the others are done.

import { type BulkResult, deadLetterQueues, eachQueue, redriveAll } from '../../client/bulk.ts'
import { PRIORITY_MAX } from '../../engine/core/limits.ts'
import { deadLetterQueueOf, isDeadLetterQueue, originOf } from '../../shared/bounds.ts'
import { present } from '../../shared/wire.ts'
import { idsGiven, idsOption, oneOf, queueOrPrefix } from '../arguments.ts'
import { type Context, command, flag, integer, type OptionTable, text } from '../command.ts'
import { type ExitCode, exitCodes, explain, Failure, interrupted, wrongUsage } from '../failure.ts'
import type { Listed, Target } from '../target/target.ts'
import { checkAskable, confirm, progressBarOn } from '../terminal.ts'
import { counted, grouped } from '../text.ts'

const purgeOptions = {
  priority: integer('N', 0, PRIORITY_MAX, 'only these'),
  ids: idsOption('only these items, up to 100; with a queue, and without --priority'),
  prefix: text('P', 'all queues whose ids begin with P, dead-letter queues too'),
  yes: flag('do not ask; needed where there is no terminal'),
} as const

type PurgeRun = Context<typeof purgeOptions>

export const purge = command({
  name: 'purge',
  summary: 'Deletes all items of a queue, or of one priority; asks first',
  words: [queueOrPrefix],
  options: purgeOptions,
  notes: [
    'Items in locks are deleted too, and those for later if you name no priority. Nothing brings\n' +
      'them back: export them first. With --prefix it goes on if a queue fails, and says which;\n' +
      'with --json it prints a line for each queue.',
  ],
  examples: [
    'pushpop purge orders',
    'pushpop purge orders --priority 9 --yes',
    'pushpop purge orders --ids x7Gh2kQz-0-0,x7Gh2kQz-0-1',
    'pushpop purge --prefix tenant-7.',
  ],
  async run(context): Promise<ExitCode> {
    const { given, io, target } = context
    const which = oneOf('purge', context.words, given.prefix)
    if (given.ids !== undefined && (which.kind === 'prefix' || given.priority !== undefined)) {
      throw wrongUsage('Cannot purge because --ids goes with a queue, and without --priority')
    }
    const shown = which.kind === 'queue' ? which.name : `--prefix ${JSON.stringify(which.name)}`
    if (!given.yes) checkAskable(io, `purge ${shown}`)
    const queues = await target()
    return which.kind === 'queue'
      ? purgeOne(context, queues, which.name)
      : purgeAll(context, queues, which.name)
  },
})

async function purgeOne(context: PurgeRun, queues: Target, queue: string): Promise<ExitCode> {
  const { given, isJson, print, tell, paint } = context
  const { priority, yes } = given
  const ids = idsGiven(given.ids)
  if (!yes) {
    const { count, lanes, scheduledCount } = await queues.inspect(queue)
    const lane = lanes.find((one) => one.priority === priority)
    const some = priority === undefined ? count : (lane?.count ?? 0)
    const which = priority === undefined ? '' : ` of priority ${priority}`
    const amount = ids === undefined ? some : Math.min(some, ids.length)
    const isAll = priority === undefined && ids === undefined
    const items = `${counted(amount, 'item')}${isAll ? andLater(scheduledCount) : ''}`
    tell(`This deletes ${items}${which} of ${paint('bold', queue)} for good.`)
    await confirm(context, {
      question: `Type the queue's name to go on: `,
      expected: queue,
      wrong: 'that is not its name',
      undone: 'Nothing was deleted',
    })
  }
  const { itemsPurged } = await queues.purge(queue, present({ priority, ids }))
  if (isJson) await print(JSON.stringify({ queue, items_purged: itemsPurged }))
  else tell(`Deleted ${counted(itemsPurged, 'item')} of ${queue}.`)
  return exitCodes.done
}

async function purgeAll(context: PurgeRun, queues: Target, prefix: string): Promise<ExitCode> {
  const { given, tell, paint } = context
  const { priority } = given
  if (!given.yes) {
    const which = priority === undefined ? '' : `, but only those of priority ${priority},`
    const found = await amountIn(queues.queues({ prefix, detail: priority === undefined }))
    const begin = `that begin${found.isOne ? 's' : ''} with`
    tell(
      `This deletes ${found.items}${which} of ${found.queues} ${begin} ${paint('bold', prefix)} for good.`,
    )
    await confirm(context, {
      question: 'Type the prefix to go on: ',
      expected: prefix,
      wrong: 'that is not the prefix',
      undone: 'Nothing was deleted',
    })
  }
  return overPrefix(context, {
    prefix,
    label: 'Purging',
    nothing: 'no queue',
    queues: idsOf(queues.queues({ prefix })),
    work: (queue) => queues.purge(queue, present({ priority })),
    lineOf: (queue, { itemsPurged }) => ({ queue, items_purged: itemsPurged }),
    itemsOf: ({ itemsPurged }) => itemsPurged,
    sentence: (items, some) => `Deleted ${items} of ${some}`,
  })
}

/** A purge of all priorities also removes scheduled items. */
const andLater = (scheduled: number): string =>
  scheduled === 0 ? '' : `, and ${grouped(scheduled)} for later,`

/** `at least`: a queue has no count if its record could not be read just now. */
async function amountIn(listed: AsyncIterable<Listed>) {
  let queues = 0
  let items = 0
  let later = 0
  let isWhole = true
  for await (const { count, scheduledCount } of listed) {
    queues += 1
    items += count ?? 0
    later += scheduledCount ?? 0
    isWhole &&= count !== undefined
  }
  const atLeast = isWhole ? '' : 'at least '
  return {
    items: `${atLeast}${counted(items, 'item')}${andLater(later)}`,
    queues: counted(queues, 'queue'),
    isOne: queues === 1,
  }
}

const LIMIT_MAX = 1_000_000_000

const redriveOptions = {
  limit: integer('N', 1, LIMIT_MAX, 'how many at most; with --prefix, of each queue'),
  ids: idsOption('only these items, up to 100; with a queue, and without --limit'),
  prefix: text('P', 'the dead letters of all queues whose ids begin with P'),
} as const

type RedriveRun = Context<typeof redriveOptions>

export const redrive = command({
  name: 'redrive',
  summary: 'Moves dead-lettered items back to the queue they came from',
  words: [queueOrPrefix],
  options: redriveOptions,
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
  { given: { limit }, interrupt }: RedriveRun,
  queues: Target,
  queue: string,
  onMoved?: (soFar: Redriven) => void,
): Promise<Redriven> =>
  redriveAll((some) => queues.redrive(queue, { limit: some }), {
    limit,
    signal: interrupt,
    ...(onMoved !== undefined && { onMoved }),
  })

async function redriveOne(context: RedriveRun, queues: Target, word: string): Promise<ExitCode> {
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

type OverPrefix<Answer> = {
  readonly prefix: string
  /** For the bar: `Purging`. */
  readonly label: string
  /** What to say if there is none: `no dead-letter queue`. */
  readonly nothing: string
  readonly queues: AsyncIterable<string>
  work(queue: string): Promise<Answer>
  /** A line of JSON for a queue that was done. */
  lineOf(queue: string, answer: Answer): object
  itemsOf(answer: Answer): number
  /** `Deleted 12 items of 3 queues` */
  sentence(items: string, queues: string): string
}

/** If so many fail, all of them will: nobody reads ten thousand lines that say the same. */
const FAILURES_MAX = 100

export async function overPrefix<Answer extends object>(
  context: Pick<Context<OptionTable>, 'io' | 'isJson' | 'interrupt' | 'print' | 'tell' | 'paint'>,
  run: OverPrefix<Answer>,
): Promise<ExitCode> {
  const { io, isJson, interrupt, print, tell, paint } = context
  const bar = progressBarOn(io.stderr, run.label)
  const failures: ExitCode[] = []
  let done = 0
  let items = 0
  const told = () => {
    const sum = run.sentence(counted(items, 'item'), counted(done, 'queue'))
    return failures.length === 0 ? sum : `${sum}; ${counted(failures.length, 'queue')} failed`
  }
  try {
    for await (const result of eachQueue(run.queues, run.work, { signal: interrupt })) {
      if (result.kind === 'failed') {
        bar.clear()
        const { exitCode, sentence, line } = failureOf(result)
        failures.push(exitCode)
        if (isJson) await print(line)
        else tell(paint('red', `${result.id}: ${sentence}`))
        if (failures.length < FAILURES_MAX) continue
        throw new Failure(exitCode, `Stopped because so many queues failed. ${told()}.`)
      }
      done += 1
      items += run.itemsOf(result)
      if (isJson) await print(JSON.stringify(run.lineOf(result.id, result)))
      bar.at(0, undefined, `${counted(done, 'queue')}, ${counted(items, 'item')}`)
    }
  } catch (error) {
    if (error instanceof Failure || done + failures.length === 0) throw error
    const { exitCode, sentence, code } = explain(error)
    throw new Failure(exitCode, `${sentence}. ${told()}.`, { code, cause: error })
  } finally {
    bar.clear()
  }
  if (interrupt.aborted) throw interrupted(`Stopped. ${told()}.`)
  if (done + failures.length === 0) {
    if (!isJson) tell(`There is ${run.nothing} whose id begins with ${JSON.stringify(run.prefix)}.`)
    return exitCodes.nothingThere
  }
  if (!isJson) tell(`${told()}.`)
  // A fault weighs more than a refusal: it may pass.
  return failures.includes(exitCodes.failed) ? exitCodes.failed : (failures[0] ?? exitCodes.done)
}

async function* idsOf(listed: AsyncIterable<Listed>): AsyncGenerator<string> {
  for await (const { queue } of listed) yield queue
}

function failureOf({ id, error }: Extract<BulkResult<object>, { kind: 'failed' }>) {
  const { exitCode, sentence, code, retryable, outcome } = explain(error)
  const line = JSON.stringify(
    present({ queue: id, success: false, error_code: code, message: sentence, retryable, outcome }),
  )
  return { exitCode, sentence, line }
}
