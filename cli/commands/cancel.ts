import { byHundreds } from '../arguments/item-ids.ts'
import { itemWords, queueWord } from '../arguments/read-words.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { counted } from '../terminal/amounts.ts'

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
