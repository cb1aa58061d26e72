import { PRIORITY_MAX } from '../../engine/core/limits.ts'
import { present } from '../../shared/wire.ts'
import { idsGiven, idsOption } from '../arguments/item-ids.ts'
import { flag, integer, text } from '../arguments/option-table.ts'
import { oneOf, queueOrPrefix } from '../arguments/queue-or-prefix.ts'
import { type Context, command } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { wrongUsage } from '../failure.ts'
import { idsOf, overPrefix } from '../queues/over-prefix.ts'
import type { Listed, Target } from '../target/target.ts'
import { counted, grouped } from '../terminal/amounts.ts'
import { checkAskable, confirm } from '../terminal/confirm.ts'

const options = {
  priority: integer('N', 0, PRIORITY_MAX, 'only these'),
  ids: idsOption('only these items, up to 100; with a queue, and without --priority'),
  prefix: text('P', 'all queues whose ids begin with P, dead-letter queues too'),
  yes: flag('do not ask; needed where there is no terminal'),
} as const

type Run = Context<typeof options>

export const purge = command({
  name: 'purge',
  summary: 'Deletes all items of a queue, or of one priority; asks first',
  words: [queueOrPrefix],
  options,
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

async function purgeOne(context: Run, queues: Target, queue: string): Promise<ExitCode> {
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

async function purgeAll(context: Run, queues: Target, prefix: string): Promise<ExitCode> {
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
