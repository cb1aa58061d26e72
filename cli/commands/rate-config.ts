import { snakeCased } from '../../shared/wire.ts'
import { keyWord } from '../arguments/read-words.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { wrongUsage } from '../failure.ts'
import { settingLines } from '../rates/setting-lines.ts'
import { settingOptions, settingsIn } from '../rates/setting-options.ts'
import { withRates } from '../target/open-rates.ts'
import { NOT_ITS_OWN } from '../target/rates.ts'

export const rateConfig = command({
  name: 'rate-config',
  summary: "Shows, sets or removes a rate limit's own configuration",
  words: [keyWord, { name: 'show|set|remove', kind: 'text', optional: true }],
  options: settingOptions,
  notes: [
    'set replaces all of it: what you do not name has its default. After remove, the limit of its\n' +
      'prefix applies again, or the default. A turn that was promised never changes.',
  ],
  examples: [
    'pushpop rate-config partner-api',
    'pushpop rate-config partner-api set --max-requests 10 --window 1000 --algorithm smooth',
    'pushpop rate-config partner-api remove',
  ],
  async run({ given, words, io, isJson, print, tell }) {
    const [key = '', verb = 'show'] = words
    const settings = snakeCased(settingsIn(given))
    const isNamed = Object.keys(settings).length > 0
    if (verb !== 'show' && verb !== 'set' && verb !== 'remove') {
      throw wrongUsage(
        `Cannot use rate-config because ${JSON.stringify(verb)} is none of show, set and remove`,
      )
    }
    if (verb === 'set' && !isNamed) {
      throw wrongUsage(
        'Cannot change the configuration because set needs a setting, such as --max-requests N',
      )
    }
    if (verb !== 'set' && isNamed) {
      throw wrongUsage(`Cannot use the settings because settings go with set, not with ${verb}`)
    }
    const { body, text, etag } = await withRates({ given, io }, (rates) => {
      if (verb === 'set') return rates.configure(key, settings)
      return verb === 'remove' ? rates.unconfigure(key) : rates.configuration(key)
    })
    if (isJson) await print(text)
    else {
      for (const line of settingLines(body)) await print(line)
      if (verb === 'set') tell(`Configured ${key}.`)
      if (etag === NOT_ITS_OWN) tell(`${key} has no configuration of its own; this applies.`)
    }
    return exitCodes.done
  },
})
