import { keyWord } from '../arguments/read-words.ts'
import { command } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { settingLines } from '../rates/setting-lines.ts'
import { isoTime } from '../rates/times.ts'
import { withRates } from '../target/open-rates.ts'
import { grouped } from '../terminal/amounts.ts'
import { type Column, printTable } from '../terminal/table.ts'

const columns: readonly Column[] = [
  { title: 'SHARD', align: 'right' },
  { title: 'LIMIT', align: 'right' },
  { title: 'REMAINING', align: 'right' },
  { title: 'WAITING', align: 'right' },
  { title: 'WINDOW ENDS' },
  { title: 'LAST TURN' },
]

export const rateState = command({
  name: 'rate-state',
  summary: 'Shows how a rate limit stands, and changes nothing',
  words: [keyWord],
  options: {},
  notes: ['WAITING are places promised for windows to come.'],
  examples: ['pushpop rate-state partner-api'],
  async run(context): Promise<ExitCode> {
    const { given, words, io, isJson, print } = context
    const [key = ''] = words
    const { body, text } = await withRates({ given, io }, (rates) => rates.state(key))
    if (isJson) {
      await print(text)
      return exitCodes.done
    }
    const rows = body.shards.map((shard) => [
      String(shard.shard),
      grouped(shard.limit),
      grouped(shard.remaining),
      grouped(shard.waiting),
      isoTime(shard.window.end),
      shard.last_turn === null ? '' : isoTime(shard.last_turn),
    ])
    for (const line of settingLines({ ...body.configuration, from: body.from })) await print(line)
    await print('')
    await printTable(context, columns, rows)
    return exitCodes.done
  },
})
