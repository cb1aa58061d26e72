import {
  deadLetterQueueOf,
  isDeadLetterQueue,
  originOf,
} from '../../lambdas/foundation/queue-id.ts'
import { integer } from '../arguments/option-table.ts'
import { queueWord } from '../arguments/read-words.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { interrupted } from '../failure.ts'
import { counted } from '../terminal/amounts.ts'
import { progressBarOn } from '../terminal/progress-bar.ts'

/** What one call of the API moves at most. */
const ITEMS_PER_CALL = 1_000
const LIMIT_MAX = 1_000_000_000

export const redrive = command({
  name: 'redrive',
  summary: 'Moves dead-lettered items back to the queue they came from',
  words: [queueWord],
  options: {
    limit: integer('N', 1, LIMIT_MAX, 'how many at most'),
  },
  notes: [
    'QUEUE is the dead-letter queue or the one it belongs to. Items go to the end of their priority,\n' +
      'in order. Locked ones stay, and so do items that were pushed to the dead-letter queue by hand.',
  ],
  examples: ['pushpop redrive orders', 'pushpop redrive orders-deadletter --limit 10'],
  async run({ given, words, io, isJson, interrupt, print, tell, target }) {
    const [word = ''] = words
    const queue = isDeadLetterQueue(word) ? word : deadLetterQueueOf(word)
    const queues = await target()
    const limit = given.limit ?? LIMIT_MAX
    const bar = progressBarOn(io.stderr, 'Redriving')
    let redriven = 0
    let left = 0
    try {
      while (redriven < limit && !interrupt.aborted) {
        const some = Math.min(ITEMS_PER_CALL, limit - redriven)
        const { itemsRedriven, itemsLeft } = await queues.redrive(queue, { limit: some })
        redriven += itemsRedriven
        left = itemsLeft
        bar.at(redriven, redriven + left, counted(redriven, 'item'))
        if (itemsRedriven === 0 || itemsLeft === 0) break
      }
    } finally {
      bar.clear()
    }
    const sentence = `Moved ${counted(redriven, 'item')} back to ${originOf(queue)}`
    if (interrupt.aborted) throw interrupted(`Stopped. ${sentence}.`)
    if (isJson) {
      await print(JSON.stringify({ queue, items_redriven: redriven, items_left: left }))
    } else {
      const why = redriven < limit ? ' (locked, or pushed there by hand)' : ''
      tell(left === 0 ? `${sentence}.` : `${sentence}; ${counted(left, 'item')} left${why}.`)
    }
    return exitCodes.done
  },
})
