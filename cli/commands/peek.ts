import { PRIORITY_MAX } from '../../engine/core/limits.ts'
import type { PoppedItem } from '../../engine/queues.ts'
import { isDeadLetterQueue } from '../../shared/bounds.ts'
import { present } from '../../shared/wire.ts'
import { flag, integer, text } from '../arguments/option-table.ts'
import { queueWord } from '../arguments/read-words.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { interrupted } from '../failure.ts'
import { itemLine, onOneLine } from '../lines/write-item.ts'
import { pagesOf } from '../target/browse-all.ts'
import { age, counted } from '../terminal/amounts.ts'
import { type Column, printTable } from '../terminal/table.ts'

const LIMIT_STANDARD = 20
/** To look at more, use `export`, which can be resumed. */
const LIMIT_MAX = 100_000

/** For a dead letter, also why, when, and after how many deliveries it died. */
const columnsFor = (isDeadLetters: boolean): readonly Column[] => [
  { title: 'PRIORITY', align: 'right' },
  { title: 'STATE' },
  { title: 'AGE', align: 'right' },
  { title: 'DELIVERIES', align: 'right' },
  ...(isDeadLetters
    ? ([
        { title: 'DIED', align: 'right' },
        { title: 'AFTER', align: 'right' },
        { title: 'REASON' },
      ] as const)
    : []),
  { title: 'ID' },
  { title: 'ITEM' },
]
/** More of a reason would leave no room for the item; --json has all of it. */
const REASON_SHOWN = 40

export const peek = command({
  name: 'peek',
  summary: 'Shows the next items without taking them',
  words: [queueWord],
  options: {
    priority: integer('N', 0, PRIORITY_MAX, 'only these'),
    from: text('ID', 'begin with this item'),
    newest: flag('begin at the end'),
    limit: integer('N', 1, LIMIT_MAX, `how many at most; ${LIMIT_STANDARD} is the default`),
  },
  notes: [
    'Of a dead letter it also shows how long ago it DIED, AFTER how many deliveries, and the REASON.',
  ],
  examples: [
    'pushpop peek orders',
    'pushpop peek orders-deadletter',
    'pushpop peek orders --newest --limit 5',
    'pushpop peek orders --priority 5 --limit 500 --json',
  ],
  async run(context) {
    const { given, words, io, isJson, interrupt, print, tell, target } = context
    const [queue = ''] = words
    const { limit = LIMIT_STANDARD, priority, from } = given
    const order = given.newest ? ('newest' as const) : undefined
    const asked = { limit, priority, ...present({ from, order }) }
    const width = io.stdout.isTTY ? (io.stdout.columns ?? 80) : Number.POSITIVE_INFINITY
    const isDeadLetters = isDeadLetterQueue(queue)
    const rows: string[][] = []
    let shown = 0
    let isMore = false
    for await (const { items, cursor } of pagesOf(await target(), queue, asked)) {
      if (interrupt.aborted) throw interrupted('Stopped.')
      for (const item of items) {
        if (isJson) await print(itemLine(item))
        else {
          const { id, state, deliveries } = item
          const since = age(Date.now() - item.pushedAtMs)
          // More of it than fits on a line is not shown in any case, and a queue of large items
          // would be a table of megabytes.
          const text = onOneLine(item.text).slice(0, Math.min(width, item.text.length))
          const death = isDeadLetters ? deathOf(item) : []
          rows.push([String(item.priority), state, since, String(deliveries), ...death, id, text])
        }
      }
      shown += items.length
      isMore = cursor !== undefined
    }
    if (shown === 0) {
      if (!isJson) tell(`Nothing to see in ${queue}.`)
      return exitCodes.nothingThere
    }
    if (!isJson) {
      await printTable(context, columnsFor(isDeadLetters), rows)
      if (isMore) tell(`The first ${counted(shown, 'item')}; --limit shows more.`)
    }
    return exitCodes.done
  },
})

/** Empty cells if nobody knows, because the item was pushed there by hand, or moved by an older engine. */
function deathOf({ reason = '', deadLetteredAtMs, priorDeliveries }: PoppedItem): string[] {
  const died = deadLetteredAtMs === undefined ? '' : age(Date.now() - deadLetteredAtMs)
  const shown = reason.length > REASON_SHOWN ? `${reason.slice(0, REASON_SHOWN - 1)}…` : reason
  return [died, String(priorDeliveries ?? ''), onOneLine(shown)]
}
