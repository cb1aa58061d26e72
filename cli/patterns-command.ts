import { flag, text } from './arguments/option-table.ts'
import { type Command, type Context, command } from './command.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { wrongUsage } from './failure.ts'
import { patternsIn } from './lines/patterns-file.ts'
import type { Answer } from './target/rates.ts'
import { counted, grouped } from './terminal/amounts.ts'
import { checkAskable, confirm, yes } from './terminal/confirm.ts'
import { type Column, printTable } from './terminal/table.ts'

const options = {
  file: text('F', 'with set: JSON in a file; stdin else, or with -'),
  yes: flag('with set: do not ask; needed where there is no terminal'),
} as const

type Run = Context<typeof options>

/** Where settings of prefixes are stored, with the API's own names. */
type Patterns<Pattern> = {
  patterns(): Promise<Answer<{ readonly patterns: readonly Pattern[] }>>
  /** Replaces them all, if they are still those of the tag. */
  configurePatterns(
    patterns: readonly unknown[],
    etag: string | undefined,
  ): Promise<Answer<unknown>>
}

type PatternsCommand<Pattern> = {
  readonly name: 'rate-patterns' | 'queue-config'
  readonly summary: string
  readonly notes: readonly string[]
  /** What changes with the patterns, and when: the end of a sentence. */
  readonly effect: string
  readonly columns: readonly Column[]
  /** The columns after the prefix. */
  rowOf(pattern: Pattern): string[]
  open(
    asked: Pick<Run, 'given' | 'io'>,
    work: (target: Patterns<Pattern>) => Promise<ExitCode>,
  ): Promise<ExitCode>
}

/** A command that shows the settings of prefixes, or replaces them all. */
export function patternsCommand<Pattern extends { readonly prefix: string }>(
  it: PatternsCommand<Pattern>,
): Command<typeof options> {
  const { name, summary, notes } = it
  return command({
    name,
    summary,
    words: [{ name: 'show|set', kind: 'text', optional: true }],
    options,
    notes,
    examples: [
      `pushpop ${name}`,
      `pushpop ${name} show --json > patterns.json`,
      `pushpop ${name} set --file patterns.json`,
    ],
    async run(context): Promise<ExitCode> {
      const { given, words, io, isJson, print } = context
      const [verb = 'show'] = words
      if (verb !== 'show' && verb !== 'set') {
        throw wrongUsage(
          `Cannot use ${name} because ${JSON.stringify(verb)} is neither show nor set`,
        )
      }
      if (verb === 'show' && (given.file !== undefined || given.yes)) {
        throw wrongUsage('Cannot show the patterns because --file and --yes go with set')
      }
      const patterns = verb === 'set' ? await patternsIn(given.file, io, name) : undefined
      return it.open({ given, io }, async (target) => {
        if (patterns !== undefined) return replace(context, target, patterns, it.effect)
        const { body, text } = await target.patterns()
        if (isJson) await print(text)
        else await show(context, it, body.patterns)
        return exitCodes.done
      })
    },
  })
}

async function replace(
  context: Run,
  target: Patterns<unknown>,
  patterns: readonly unknown[],
  effect: string,
): Promise<ExitCode> {
  const { given, io, isJson, print, tell } = context
  if (!given.yes) checkAskable(io, 'replace the patterns')
  const { body, etag } = await target.patterns()
  const before = body.patterns.length
  const change = `${counted(before, 'pattern')} by ${grouped(patterns.length)}`
  if (!given.yes && before > 0) {
    tell(`This replaces ${change}; ${effect}.`)
    await confirm(context, { ...yes, undone: 'Nothing was replaced' })
  }
  const { text } = await target.configurePatterns(patterns, etag)
  if (isJson) await print(text)
  else tell(`Replaced ${change}.`)
  return exitCodes.done
}

async function show<Pattern extends { readonly prefix: string }>(
  context: Run,
  { columns, rowOf }: PatternsCommand<Pattern>,
  patterns: readonly Pattern[],
): Promise<void> {
  if (patterns.length === 0) return context.tell('There are no patterns yet.')
  const rows = patterns.map((it) => [it.prefix === '' ? '(all)' : it.prefix, ...rowOf(it)])
  await printTable(context, [{ title: 'PREFIX' }, ...columns], rows)
}
