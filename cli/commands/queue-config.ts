import type { QueuePatternsAnswer } from '../../client/api-types.ts'
import { flag, text } from '../arguments/option-table.ts'
import { type Context, command } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { wrongUsage } from '../failure.ts'
import { patternsIn } from '../lines/patterns-file.ts'
import { type QueuePatternsTarget, withQueuePatterns } from '../target/queue-patterns.ts'
import { counted, grouped } from '../terminal/amounts.ts'
import { checkAskable, confirm, yes } from '../terminal/confirm.ts'
import { type Column, printTable } from '../terminal/table.ts'

const options = {
  file: text('F', 'with set: JSON in a file; stdin else, or with -'),
  yes: flag('with set: do not ask; needed where there is no terminal'),
} as const

type Run = Context<typeof options>

const columns: readonly Column[] = [
  { title: 'PREFIX' },
  { title: 'SEGMENT', align: 'right' },
  { title: 'BUFFER', align: 'right' },
  { title: 'DELIVERIES', align: 'right' },
  { title: 'CAPACITY', align: 'right' },
  { title: 'PUSHES' },
  { title: 'POPS' },
]

export const queueConfig = command({
  name: 'queue-config',
  summary: 'Shows the settings of prefixes of queues, or replaces them; asks first',
  words: [{ name: 'show|set', kind: 'text', optional: true }],
  options,
  notes: [
    'In the order in which they apply: the longest prefix first, and the empty one for all queues.\n' +
      "A queue's own settings go before them. set replaces them all by\n" +
      '{"patterns": [{"prefix", "max_deliveries", …}, …]}, as show --json prints them, unless\n' +
      'somebody else has replaced them meanwhile (exit code 4).',
  ],
  examples: [
    'pushpop queue-config',
    'pushpop queue-config show --json > patterns.json',
    'pushpop queue-config set --file patterns.json',
  ],
  async run(context): Promise<ExitCode> {
    const { given, words, io, isJson, print } = context
    const [verb = 'show'] = words
    if (verb !== 'show' && verb !== 'set') {
      throw wrongUsage(
        `Cannot use queue-config because ${JSON.stringify(verb)} is neither show nor set`,
      )
    }
    if (verb === 'show' && (given.file !== undefined || given.yes)) {
      throw wrongUsage('Cannot show the patterns because --file and --yes go with set')
    }
    const patterns = verb === 'set' ? await patternsIn(given.file, io, 'queue-config') : undefined
    return withQueuePatterns({ given, io }, async (target) => {
      if (patterns !== undefined) return replace(context, target, patterns)
      const { body, text } = await target.patterns()
      if (isJson) await print(text)
      else await show(context, body)
      return exitCodes.done
    })
  },
})

async function replace(
  context: Run,
  target: QueuePatternsTarget,
  patterns: readonly unknown[],
): Promise<ExitCode> {
  const { given, io, isJson, print, tell } = context
  if (!given.yes) checkAskable(io, 'replace the patterns')
  const { body, etag } = await target.patterns()
  const before = body.patterns.length
  const change = `${counted(before, 'pattern')} by ${grouped(patterns.length)}`
  if (!given.yes && before > 0) {
    tell(`This replaces ${change}; queues with these prefixes change within some minutes.`)
    await confirm(context, { ...yes, undone: 'Nothing was replaced' })
  }
  const { text } = await target.configurePatterns(patterns, etag)
  if (isJson) await print(text)
  else tell(`Replaced ${change}.`)
  return exitCodes.done
}

async function show(context: Run, { patterns }: QueuePatternsAnswer) {
  if (patterns.length === 0) return context.tell('There are no patterns yet.')
  await printTable(context, columns, patterns.map(rowOf))
}

type Pattern = QueuePatternsAnswer['patterns'][number]

const rowOf = (pattern: Pattern): string[] => [
  pattern.prefix === '' ? '(all)' : pattern.prefix,
  grouped(pattern.segment_size),
  grouped(pattern.buffer_segments),
  pattern.max_deliveries === null ? '' : grouped(pattern.max_deliveries),
  pattern.capacity === null ? '' : grouped(pattern.capacity),
  limit(pattern.push_limit),
  limit(pattern.pop_limit),
]

const limit = (it: Pattern['push_limit']): string =>
  it === null ? '' : `${grouped(it.max_requests)} in ${grouped(it.window_millis)} ms`
