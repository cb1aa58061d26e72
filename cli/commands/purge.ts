import { PRIORITY_MAX } from '../../lambdas/engine/core/limits.ts'
import { present } from '../../lambdas/foundation/shared/present.ts'
import { flag, integer } from '../arguments/option-table.ts'
import { queueWord } from '../arguments/read-words.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { counted } from '../terminal/amounts.ts'
import { checkAskable, confirm } from '../terminal/confirm.ts'

export const purge = command({
  name: 'purge',
  summary: 'Deletes all items of a queue, or of one priority; asks first',
  words: [queueWord],
  options: {
    priority: integer('N', 0, PRIORITY_MAX, 'only these'),
    yes: flag('do not ask; needed where there is no terminal'),
  },
  notes: ['Items in locks are deleted too. Nothing brings them back: export them first.'],
  examples: ['pushpop purge orders', 'pushpop purge orders --priority 9 --yes'],
  async run(context) {
    const { given, words, io, isJson, print, tell, paint, target } = context
    const [queue = ''] = words
    const { priority, yes } = given
    if (!yes) checkAskable(io, `purge ${queue}`)
    const queues = await target()
    if (!yes) {
      const { count, lanes } = await queues.inspect(queue)
      const lane = lanes.find((one) => one.priority === priority)
      const some = priority === undefined ? count : (lane?.count ?? 0)
      const which = priority === undefined ? '' : ` of priority ${priority}`
      tell(`This deletes ${counted(some, 'item')}${which} of ${paint('bold', queue)} for good.`)
      await confirm(context, {
        question: `Type the queue's name to go on: `,
        expected: queue,
        wrong: 'that is not its name',
        undone: 'Nothing was deleted',
      })
    }
    const { itemsPurged } = await queues.purge(queue, present({ priority }))
    if (isJson) await print(JSON.stringify({ queue, items_purged: itemsPurged }))
    else tell(`Deleted ${counted(itemsPurged, 'item')} of ${queue}.`)
    return exitCodes.done
  },
})
