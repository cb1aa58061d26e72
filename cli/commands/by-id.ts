// Commands for items by their ids, which other commands print. Each id has its own result: one that is locked or gone
// is named and does not stop the others.

import { PRIORITY_MAX } from '../../engine/core/limits.ts'
import { present } from '../../shared/wire.ts'
import { byHundreds, msIn } from '../arguments.ts'
import { command, integer, itemWords, queueWord, text } from '../command.ts'
import { exitCodes, wrongUsage } from '../failure.ts'
import { counted } from '../text.ts'

export const cancel = command({
  name: 'cancel',
  summary: 'Takes back items that wait or are scheduled, by their ids',
  words: [queueWord, itemWords],
  options: {},
  notes: [
    'push --json, peek and scheduled show ids. Items that a consumer has locked stay; they are named, and so\n' +
      'are those that are gone: then the exit code is 4.',
  ],
  examples: ['pushpop cancel orders x7Gh2kQz-0-2s', 'pushpop cancel orders x7Gh2kQz-0-2s --json'],
  async run({ words, isJson, print, tell, target }) {
    const [queue = '', ...ids] = words
    const queues = await target()
    const results = await byHundreds(ids, (some) => queues.cancel(queue, some))
    for (const { id, result } of results) {
      if (isJson) await print(JSON.stringify({ id, result }))
      else if (result !== 'cancelled') tell(`${id} is ${result}.`)
    }
    const cancelled = results.filter(({ result }) => result === 'cancelled').length
    if (!isJson) tell(`Cancelled ${counted(cancelled, 'item')} of ${queue}.`)
    return cancelled === results.length ? exitCodes.done : exitCodes.refused
  },
})

export const move = command({
  name: 'move',
  summary: 'Moves items to another priority, queue or time, by their ids',
  words: [queueWord, itemWords],
  options: {
    priority: integer('N', 0, PRIORITY_MAX, 'to the end of this priority'),
    to: text('QUEUE', 'to this queue'),
    'deliver-at': text('TIME', 'no pop returns them until then, such as 2027-01-01T09:00Z'),
  },
  notes: [
    'It prints the new id of each item. Items that a consumer has locked stay; they are named, and so are\n' +
      'those that are gone: then the exit code is 4.',
  ],
  examples: [
    'pushpop move orders x7Gh2kQz-0-2s --priority 5',
    'pushpop move orders x7Gh2kQz-0-2s --to orders-slow',
    'pushpop move orders x7Gh2kQz-0-2s --deliver-at 2027-01-01T09:00Z',
  ],
  async run({ given, words, isJson, print, tell, target }) {
    const [queue = '', ...ids] = words
    const { priority, to } = given
    const deliverAtMs = msIn('move', 'deliver-at', given['deliver-at'])
    if (priority === undefined && to === undefined && deliverAtMs === undefined) {
      throw wrongUsage(
        'Cannot move because --priority, --to or --deliver-at is missing; see: pushpop help move',
      )
    }
    const queues = await target()
    const where = present({ priority, queue: to, deliverAtMs })
    const results = await byHundreds(ids, (some) => queues.move(queue, { ids: some, ...where }))
    for (const one of results) {
      const newId = one.result === 'moved' ? one.newId : undefined
      if (isJson) {
        await print(JSON.stringify(present({ id: one.id, result: one.result, new_id: newId })))
      } else if (one.result !== 'moved') tell(`${one.id} is ${one.result}.`)
      else await print(`${one.id} ${newId ?? ''}`.trim())
    }
    const moved = results.filter(({ result }) => result === 'moved').length
    if (!isJson) tell(`Moved ${counted(moved, 'item')} of ${queue}.`)
    return moved === results.length ? exitCodes.done : exitCodes.refused
  },
})
