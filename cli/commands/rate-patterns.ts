import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import type { RatePatternsAnswer } from '../../client/api-types.ts'
import { flag, text } from '../arguments/option-table.ts'
import type { Context, Io } from '../command.ts'
import { command } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { interrupted, wrongUsage } from '../failure.ts'
import { cannotRead } from '../lines/read-lines.ts'
import { withRates } from '../target/open-rates.ts'
import type { Rates } from '../target/rates.ts'
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
  { title: 'REQUESTS', align: 'right' },
  { title: 'MILLIS', align: 'right' },
  { title: 'IN LINE', align: 'right' },
  { title: 'ALGORITHM' },
  { title: 'BURST', align: 'right' },
  { title: 'OVERRIDES' },
]

export const ratePatterns = command({
  name: 'rate-patterns',
  summary: 'Shows the rate limits of prefixes, or replaces them; asks first',
  words: [{ name: 'show|set', kind: 'text', optional: true }],
  options,
  notes: [
    'In the order in which they apply: the longest prefix first, and the empty one for all keys.\n' +
      'set replaces them all by {"patterns": [{"prefix", "max_requests", …}, …]}, as show --json\n' +
      'prints them, unless somebody else has replaced them meanwhile (exit code 4).',
  ],
  examples: [
    'pushpop rate-patterns',
    'pushpop rate-patterns show --json > patterns.json',
    'pushpop rate-patterns set --file patterns.json',
  ],
  async run(context): Promise<ExitCode> {
    const { given, words, io, isJson, print } = context
    const [verb = 'show'] = words
    if (verb !== 'show' && verb !== 'set') {
      throw wrongUsage(
        `Cannot use rate-patterns because ${JSON.stringify(verb)} is neither show nor set`,
      )
    }
    if (verb === 'show' && (given.file !== undefined || given.yes)) {
      throw wrongUsage('Cannot show the patterns because --file and --yes go with set')
    }
    const patterns = verb === 'set' ? await patternsIn(given.file, io) : undefined
    return withRates({ given, io }, async (rates) => {
      if (patterns !== undefined) return replace(context, rates, patterns)
      const { body, text } = await rates.patterns()
      if (isJson) await print(text)
      else await show(context, body)
      return exitCodes.done
    })
  },
})

async function replace(
  context: Run,
  rates: Rates,
  patterns: readonly unknown[],
): Promise<ExitCode> {
  const { given, io, isJson, print, tell } = context
  if (!given.yes) checkAskable(io, 'replace the patterns')
  const { body, etag } = await rates.patterns()
  const before = body.patterns.length
  const change = `${counted(before, 'pattern')} by ${grouped(patterns.length)}`
  if (!given.yes && before > 0) {
    tell(`This replaces ${change}; limits of keys with these prefixes change at once.`)
    await confirm(context, { ...yes, undone: 'Nothing was replaced' })
  }
  const { text } = await rates.configurePatterns(patterns, etag)
  if (isJson) await print(text)
  else tell(`Replaced ${change}.`)
  return exitCodes.done
}

async function show(context: Run, { patterns }: RatePatternsAnswer) {
  if (patterns.length === 0) return context.tell('There are no patterns yet.')
  await printTable(context, columns, patterns.map(rowOf))
}

const rowOf = (pattern: RatePatternsAnswer['patterns'][number]): string[] => [
  pattern.prefix === '' ? '(all)' : pattern.prefix,
  grouped(pattern.max_requests),
  grouped(pattern.window_millis),
  grouped(pattern.max_requests_in_queue),
  pattern.algorithm,
  grouped(pattern.burst),
  pattern.allow_overrides ? 'allowed' : '',
]

/** `{"patterns": […]}`, or the list alone. What is in it is for the service to judge. */
async function patternsIn(file: string | undefined, io: Io): Promise<readonly unknown[]> {
  const name = file === undefined || file === '-' ? 'stdin' : file
  const text = await textOf(file, io)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw wrongUsage(`Cannot change the patterns because ${name} is not JSON`)
  }
  const isNamed = typeof value === 'object' && value !== null && 'patterns' in value
  const patterns: unknown = isNamed ? (value as { patterns: unknown }).patterns : value
  if (Array.isArray(patterns)) return patterns
  throw wrongUsage(
    `Cannot change the patterns because ${name} holds no list; write {"patterns": [{"prefix", …}, …]}`,
  )
}

async function textOf(file: string | undefined, io: Io): Promise<string> {
  if (file !== undefined && file !== '-') {
    return readFile(file, 'utf8').catch((error: unknown) => {
      throw cannotRead(file, error)
    })
  }
  if (io.stdin.isTTY && file === undefined) {
    throw wrongUsage(
      'Cannot change the patterns because there is no --file, and nothing comes from stdin; ' +
        'see: pushpop help rate-patterns',
    )
  }
  const end = () => io.stdin.destroy()
  io.interrupt.addEventListener('abort', end)
  try {
    return (await buffer(io.stdin)).toString('utf8')
  } catch (error) {
    if (io.interrupt.aborted) throw interrupted('Nothing was replaced.')
    throw error
  } finally {
    io.interrupt.removeEventListener('abort', end)
  }
}
