import { configurationBody } from '../../lambdas/http/endpoints/configuration.ts'
import { text } from '../arguments/option-table.ts'
import { queueWord } from '../arguments/read-words.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { wrongUsage } from '../failure.ts'
import { changeIn, configurationOptions } from '../queues/configuration-options.ts'
import { settingLines } from '../rates/setting-lines.ts'

export const config = command({
  name: 'config',
  summary: "Shows or changes a queue's settings",
  words: [queueWord, { name: 'get|set', kind: 'text', optional: true }],
  options: {
    ...configurationOptions,
    'if-match': text(
      'ETAG',
      'with set: only if they are still those that get showed with this etag',
    ),
  },
  notes: [
    'get is the default. set changes what you name, and nothing else; none takes a setting away. A\n' +
      'limit is replaced as a whole. What you set is kept even when the queue is empty.',
  ],
  examples: [
    'pushpop config orders',
    'pushpop config orders set --max-deliveries 5 --capacity 10000',
    'pushpop config orders set --push-limit max_requests=100,window_millis=60000 --if-match 3',
    'pushpop config orders set --max-deliveries none',
  ],
  async run({ given, words, isJson, print, tell, target }) {
    const [queue = '', verb = 'get'] = words
    if (verb !== 'get' && verb !== 'set') {
      throw wrongUsage(`Cannot config because ${JSON.stringify(verb)} is neither get nor set`)
    }
    const change = changeIn(given)
    const ifMatch = given['if-match']
    const isChange = Object.keys(change).length > 0
    if (verb === 'set' && !isChange) {
      throw wrongUsage('Cannot config because set needs a setting, such as --max-deliveries 5')
    }
    if (verb === 'get' && (isChange || ifMatch !== undefined)) {
      throw wrongUsage(`Cannot config because settings go with set: pushpop config ${queue} set …`)
    }
    const queues = await target()
    const { settings, etag } =
      verb === 'set'
        ? await queues.configure(queue, change, ifMatch?.replaceAll('"', ''))
        : await queues.configuration(queue)
    const body = { ...configurationBody(settings), etag }
    if (isJson) await print(JSON.stringify(body))
    else for (const line of settingLines(body)) await print(line)
    if (!isJson && verb === 'set') tell(`Configured ${queue}.`)
    return exitCodes.done
  },
})
