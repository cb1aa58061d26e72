import { PRIORITY_MAX } from '../../lambdas/engine/core/limits.ts'
import { integer } from '../arguments/option-table.ts'
import { queueWord } from '../arguments/read-words.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { interrupted } from '../failure.ts'
import { itemLine, onOneLine } from '../lines/write-item.ts'
import { pagesOf } from '../target/browse-all.ts'
import { age, counted } from '../terminal/amounts.ts'
import { type Column, printTable } from '../terminal/table.ts'

const LIMIT_STANDARD = 20
/** Looking at more is an export, which can be resumed. */
const LIMIT_MAX = 100_000

const columns: readonly Column[] = [
  { title: 'PRIORITY', align: 'right' },
  { title: 'STATE' },
  { title: 'AGE', align: 'right' },
  { title: 'DELIVERIES', align: 'right' },
  { title: 'ID' },
  { title: 'ITEM' },
]

export const peek = command({
  name: 'peek',
  summary: 'Shows the next items without taking them',
  words: [queueWord],
  options: {
    priority: integer('N', 0, PRIORITY_MAX, 'only these'),
    limit: integer('N', 1, LIMIT_MAX, `how many at most; ${LIMIT_STANDARD} is the default`),
  },
  examples: ['pushpop peek orders', 'pushpop peek orders --priority 5 --limit 500 --json'],
  async run(context) {
    const { given, words, io, isJson, interrupt, print, tell, target } = context
    const [queue = ''] = words
    const { limit = LIMIT_STANDARD, priority } = given
    const width = io.stdout.isTTY ? (io.stdout.columns ?? 80) : Number.POSITIVE_INFINITY
    const rows: string[][] = []
    let shown = 0
    let isMore = false
    for await (const { items, cursor } of pagesOf(await target(), queue, { limit, priority })) {
      if (interrupt.aborted) throw interrupted('Stopped.')
      for (const item of items) {
        if (isJson) await print(itemLine(item))
        else {
          const { id, state, deliveries } = item
          const since = age(Date.now() - item.pushedAtMs)
          // More of it than fits on a line is not shown in any case, and a queue of large items
          // would be a table of megabytes.
          const text = onOneLine(item.text).slice(0, Math.min(width, item.text.length))
          rows.push([String(item.priority), state, since, String(deliveries), id, text])
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
      await printTable(context, columns, rows)
      if (isMore) tell(`The first ${counted(shown, 'item')}; --limit shows more.`)
    }
    return exitCodes.done
  },
})
