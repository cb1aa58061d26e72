// `pop`: takes items and prints them. If nobody reads them any more, or Ctrl-C came first, what was locked goes back.

import {
  ITEMS_PER_POP_MAX,
  LOCK_TTL_SECONDS_DEFAULT,
  LOCK_TTL_SECONDS_MAX,
  WAIT_SECONDS_MAX,
} from '../../engine/core/limits.ts'
import type { PopOutcome } from '../../engine/queues.ts'
import { clockTime, printable } from '../../local/terminal/terminal.ts'
import { present } from '../../shared/wire.ts'
import { command, flag, integer, queueWord } from '../command.ts'
import { exitCodes, interrupted } from '../failure.ts'
import { detailsOf, onOneLine, seconds, withItems } from '../lines/item-lines.ts'
import { queueLocked } from '../target/target.ts'
import { counted } from '../text.ts'

export const pop = command({
  name: 'pop',
  summary: 'Takes the next items and prints them, one on each line',
  words: [queueWord],
  options: {
    count: integer(
      'N',
      1,
      ITEMS_PER_POP_MAX,
      `how many at most, up to ${ITEMS_PER_POP_MAX}; 1 is the default`,
    ),
    ack: flag('lock them, and print the lock id; settle it with pushpop ack'),
    ttl: integer(
      'S',
      1,
      LOCK_TTL_SECONDS_MAX,
      `with --ack: seconds that the lock lives; ${LOCK_TTL_SECONDS_DEFAULT} is the default`,
    ),
    wait: integer(
      'S',
      1,
      WAIT_SECONDS_MAX,
      `seconds to wait for something to pop, up to ${WAIT_SECONDS_MAX}`,
    ),
    competing: flag('pass over items that others have locked'),
  },
  notes: [
    'Without --ack the items are gone from the queue when they are printed. An empty queue: exit\n' +
      'code 3, with --wait once that time is over. Ctrl-C gives back what it had locked; over HTTP the\n' +
      'command waits for the answer first, so that no item is lost on the way.',
  ],
  examples: [
    'pushpop pop orders',
    'pushpop pop orders --wait 20',
    'pushpop pop orders --count 10 --ack --json',
  ],
  async run({ given, words, isJson, interrupt, print, tell, paint, target }) {
    const [queue = ''] = words
    const queues = await target()
    const { count = 1, ack: requireAck = false, competing = false } = given
    const { ttl: ttlSeconds, wait: waitSeconds } = given
    const request = { count, requireAck, competing, ttlSeconds, waitSeconds, signal: interrupt }
    const outcome = await queues.pop(queue, present(request))
    if (interrupt.aborted && outcome.kind !== 'items')
      throw interrupted('Stopped; nothing was popped.')
    if (outcome.kind === 'locked') throw queueLocked('pop', queue, outcome.expiresAtMs)
    if (outcome.kind === 'empty') {
      if (isJson) await print(outcomeLine(outcome, requireAck))
      else if (outcome.more)
        tell(`So far ${queue} held expired items only; pop again for what is behind.`)
      else tell(`Nothing to pop in ${queue}.`)
      return exitCodes.nothingThere
    }
    const { items, lock } = outcome
    const giveBack = async () => {
      if (lock !== undefined) await queues.release(queue, { lockId: lock.id })
    }
    if (lock !== undefined && interrupt.aborted) {
      await giveBack()
      throw interrupted(`Stopped; ${counted(items.length, 'item')} went back to ${queue}.`)
    }
    try {
      if (isJson) await print(outcomeLine(outcome, requireAck))
      else for (const { text } of items) await print(printable(onOneLine(text)))
    } catch (error) {
      // Nobody has read the lock's id, so the lock would only block others.
      await giveBack()
      throw error
    }
    if (!isJson && lock !== undefined) {
      tell(
        `Locked until ${clockTime(lock.expiresAtMs)} as ${paint('bold', lock.id)}. Settle it with:`,
      )
      tell(`  pushpop ack${queues.asTyped} ${queue} ${dashed(lock.id)}`)
    }
    return exitCodes.done
  },
})

/** A lock id may begin with a dash, as an option does. */
const dashed = (lockId: string): string => (lockId.startsWith('-') ? `-- ${lockId}` : lockId)

/** As the API answers a pop. */
function outcomeLine(outcome: Exclude<PopOutcome, { kind: 'locked' }>, withLock: boolean): string {
  const items = outcome.kind === 'items' ? outcome.items : []
  const lock = outcome.kind === 'items' ? outcome.lock : undefined
  return withItems(
    items.map(({ text }) => text),
    {
      count: items.length,
      details: items.map(detailsOf),
      more: (outcome.kind === 'items' && outcome.more) || undefined,
      locked: withLock ? lock !== undefined : undefined,
      lock_id: lock?.id,
      lock_expires_at: lock && seconds(lock.expiresAtMs),
      ttl_seconds: lock?.ttlSeconds,
    },
  )
}
