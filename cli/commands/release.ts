import { RELEASE_DELAY_SECONDS_MAX } from '../../engine/core/limits.ts'
import { present } from '../../shared/wire.ts'
import { duration, flag, text } from '../arguments/option-table.ts'
import { queueWord } from '../arguments/read-words.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { counted } from '../terminal/amounts.ts'

export const release = command({
  name: 'release',
  summary: 'Gives back a lock, or some items of one, now or later',
  words: [queueWord, { name: 'LOCK', kind: 'text' }],
  options: {
    ids: text('A,B', 'only these items of the lock, by their ids'),
    delay: duration(
      0,
      RELEASE_DELAY_SECONDS_MAX,
      'they are back so much later, up to a day: 90, 15m or 2h',
    ),
    overtake: flag('with --delay: others may be popped until then, where no consumers compete'),
  },
  notes: [
    'The items are first again when they are back, in order. pushpop peek shows waiting items.',
  ],
  examples: [
    'pushpop release orders aB3dE5gH7jK',
    'pushpop release orders aB3dE5gH7jK --delay 300 --overtake',
  ],
  async run({ given, words, isJson, print, tell, target }) {
    const [queue = '', lockId = ''] = words
    const { delay: delaySeconds, overtake } = given
    const ids = given.ids?.split(',').filter((id) => id !== '')
    const queues = await target()
    const { itemsReleased } = await queues.release(
      queue,
      present({ lockId, ids, delaySeconds, overtake }),
    )
    const when = delaySeconds ? `; back in ${counted(delaySeconds, 'second')}` : ''
    if (isJson) await print(JSON.stringify({ items_released: itemsReleased }))
    else tell(`Released ${counted(itemsReleased, 'item')} of ${queue}${when}.`)
    return exitCodes.done
  },
})
