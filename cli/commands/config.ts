import { configurationBody } from '../../lambdas/http/bodies.ts'
import { text } from '../arguments/option-table.ts'
import { queueWord } from '../arguments/read-words.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { wrongUsage } from '../failure.ts'
import { changeIn, configurationOptions } from '../queues/configuration-options.ts'
import { settingLines } from '../rates/setting-lines.ts'

export const config = command({
  name: 'config',
  summary: "Shows, changes or removes a queue's own settings",
  words: [queueWord, { name: 'get|set|remove', kind: 'text', optional: true }],
  options: {
    ...configurationOptions,
    'if-match': text('ETAG', 'with set and remove: only if they are still those of this etag'),
  },
  notes: [
    'get is the default. set changes what you name, and nothing else; none removes a setting. A\n' +
      'limit is replaced as a whole. What you set is kept even when the queue is empty. remove gives the\n' +
      'queue back to the settings of its prefix (pushpop queue-config), or the defaults.',
  ],
  examples: [
    'pushpop config orders',
    'pushpop config orders set --max-deliveries 5 --capacity 10000',
    'pushpop config orders set --push-limit max_requests=100,window_millis=60000 --if-match 3',
    'pushpop config orders set --max-deliveries none',
    'pushpop config orders remove',
  ],
  async run({ given, words, isJson, print, tell, target }) {
    const [queue = '', verb = 'get'] = words
    if (verb !== 'get' && verb !== 'set' && verb !== 'remove') {
      throw wrongUsage(
        `Cannot use config because ${JSON.stringify(verb)} is not get, set or remove`,
      )
    }
    const change = changeIn(given)
    const ifMatch = given['if-match']
    const isChange = Object.keys(change).length > 0
    if (verb === 'set' && !isChange) {
      throw wrongUsage('Cannot use config because set needs a setting, such as --max-deliveries 5')
    }
    if (verb !== 'set' && (isChange || (verb === 'get' && ifMatch !== undefined))) {
      throw wrongUsage(
        `Cannot use config because settings go with set: pushpop config ${queue} set …`,
      )
    }
    const queues = await target()
    const tag = ifMatch?.replaceAll('"', '')
    const { settings, etag } = await {
      get: () => queues.configuration(queue),
      set: () => queues.configure(queue, change, tag),
      remove: () => queues.unconfigure(queue, tag),
    }[verb]()
    const body = { ...configurationBody(settings), etag }
    if (isJson) await print(JSON.stringify(body))
    else for (const line of settingLines(body)) await print(line)
    if (!isJson && verb === 'set') tell(`Configured ${queue}.`)
    if (!isJson && verb === 'remove') tell(`${queue} has no settings of its own any more.`)
    return exitCodes.done
  },
})
