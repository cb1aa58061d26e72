import { PRIORITY_MAX } from '../../lambdas/engine/core/limits.ts'
import { present } from '../../lambdas/foundation/shared/present.ts'
import { flag, integer } from '../arguments/option-table.ts'
import { queueWord } from '../arguments/read-words.ts'
import { command } from '../command.ts'
import { counted } from '../console/amounts.ts'
import { ask } from '../console/confirm.ts'
import { exitCodes } from '../exit-codes.ts'
import { Failure, interrupted, wrongUsage } from '../failure.ts'

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
  async run({ given, words, io, isJson, interrupt, print, tell, paint, target }) {
    const [queue = ''] = words
    const { priority, yes } = given
    const isAskable = io.stdin.isTTY && io.stderr.isTTY
    if (!yes && !isAskable) {
      throw wrongUsage(`Cannot purge ${queue} because nobody can be asked here; --yes does not ask`)
    }
    const queues = await target()
    if (!yes) {
      const { count, lanes } = await queues.inspect(queue)
      const some =
        priority === undefined
          ? count
          : (lanes.find((lane) => lane.priority === priority)?.count ?? 0)
      const which = priority === undefined ? '' : ` of priority ${priority}`
      tell(`This deletes ${counted(some, 'item')}${which} of ${paint('bold', queue)} for good.`)
      const typed = await ask(io, `Type the queue's name to go on: `)
      if (interrupt.aborted || typed === undefined) throw interrupted('Nothing was deleted.')
      if (typed.trim() !== queue) {
        throw new Failure(exitCodes.refused, 'Nothing was deleted: that is not its name.')
      }
    }
    const { itemsPurged } = await queues.purge(queue, present({ priority }))
    if (isJson) await print(JSON.stringify({ queue, items_purged: itemsPurged }))
    else tell(`Deleted ${counted(itemsPurged, 'item')} of ${queue}.`)
    return exitCodes.done
  },
})
