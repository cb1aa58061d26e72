import { ITEMS_PER_POP_MAX } from '../../engine/core/limits.ts'
import { present } from '../../shared/wire.ts'
import { integer, text } from '../arguments/option-table.ts'
import { queueWord } from '../arguments/read-words.ts'
import { msIn, timeText } from '../arguments/time.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { interrupted } from '../failure.ts'
import { onOneLine, seconds } from '../lines/write-item.ts'
import { counted } from '../terminal/amounts.ts'
import { type Column, printTable } from '../terminal/table.ts'

const LIMIT_STANDARD = 20
/** The same as for peek. */
const LIMIT_MAX = 100_000

const columns: readonly Column[] = [
  { title: 'DUE' },
  { title: 'PRIORITY', align: 'right' },
  { title: 'ID' },
  { title: 'ITEM' },
]

export const scheduled = command({
  name: 'scheduled',
  summary: 'Shows items for later, in the order of time',
  words: [queueWord],
  options: {
    from: text('TIME', 'only items due from then on, such as 2027-01-01T09:00Z'),
    to: text('TIME', 'only items due up to then'),
    limit: integer('N', 1, LIMIT_MAX, `how many at most; ${LIMIT_STANDARD} is the default`),
  },
  notes: [
    'cancel and move take their ids. An item that is due by now and has not joined waits for room.',
  ],
  examples: [
    'pushpop scheduled orders',
    'pushpop scheduled orders --from 2027-01-01T00:00Z --limit 500 --json',
  ],
  async run(context) {
    const { given, words, io, isJson, interrupt, print, tell, target } = context
    const [queue = ''] = words
    const times = {
      fromMs: msIn('look', 'from', given.from),
      toMs: msIn('look', 'to', given.to),
    }
    const queues = await target()
    const width = io.stdout.isTTY ? (io.stdout.columns ?? 80) : Number.POSITIVE_INFINITY
    const rows: string[][] = []
    let left = given.limit ?? LIMIT_STANDARD
    let shown = 0
    let cursor: string | undefined
    do {
      if (interrupt.aborted) throw interrupted('Stopped.')
      const limit = Math.min(ITEMS_PER_POP_MAX, left)
      const page = await queues.scheduled(queue, present({ ...times, limit, cursor }))
      for (const { text: item, id, priority, pushedAtMs, dueMs } of page.items) {
        if (isJson) {
          const times = { pushed_at: seconds(pushedAtMs), due_at: seconds(dueMs) }
          const fields = JSON.stringify({ priority, id, ...times })
          await print(`{"item":${onOneLine(item)},${fields.slice(1)}`)
        } else {
          const start = onOneLine(item).slice(0, Math.min(width, item.length))
          rows.push([timeText(dueMs), String(priority), id, start])
        }
      }
      shown += page.items.length
      left -= page.items.length
      cursor = page.cursor
    } while (cursor !== undefined && left > 0)
    if (shown === 0) {
      if (!isJson) tell(`Nothing is scheduled in ${queue}.`)
      return exitCodes.nothingThere
    }
    if (!isJson) {
      await printTable(context, columns, rows)
      if (cursor !== undefined) tell(`The first ${counted(shown, 'item')}; --limit shows more.`)
    }
    return exitCodes.done
  },
})
