// `peek` and `scheduled`: tables of items that stay where they are.

import { ITEMS_PER_POP_MAX, PRIORITY_MAX } from '../../engine/core/limits.ts'
import type { PoppedItem } from '../../engine/queues.ts'
import { isDeadLetterQueue } from '../../shared/bounds.ts'
import { present } from '../../shared/wire.ts'
import { msIn } from '../arguments.ts'
import { command, flag, integer, queueWord, text } from '../command.ts'
import { exitCodes, interrupted } from '../failure.ts'
import { itemLine, onOneLine } from '../lines/item-lines.ts'
import { pagesOf } from '../target/target.ts'
import { printTable } from '../terminal.ts'
import { age, type Column, counted, timeText } from '../text.ts'

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

/** Empty cells if the item was pushed there by hand. */
function deathOf({ reason = '', deadLetteredAtMs, priorDeliveries }: PoppedItem): string[] {
  const died = deadLetteredAtMs === undefined ? '' : age(Date.now() - deadLetteredAtMs)
  const shown = reason.length > REASON_SHOWN ? `${reason.slice(0, REASON_SHOWN - 1)}…` : reason
  return [died, String(priorDeliveries ?? ''), onOneLine(shown)]
}

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
      for (const item of page.items) {
        if (isJson) await print(itemLine(item))
        else {
          const { text, id, priority, dueMs } = item
          const start = onOneLine(text).slice(0, Math.min(width, text.length))
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
