import { type OptionTable, usageOf } from './arguments/option-table.ts'
import { usageOfWord } from './arguments/read-words.ts'
import { targetOptions } from './arguments/target-options.ts'
import type { Command } from './command.ts'

const INDENT = '  '

export function helpOf({ name, summary, words, options, notes, examples }: Command): string {
  const usage = ['pushpop', name, ...words.map(usageOfWord), '[options]'].join(' ')
  return [
    summary,
    '',
    `${INDENT}${usage}`,
    '',
    ...optionLines(options),
    ...(Object.keys(options).length > 0 ? [''] : []),
    ...(notes ?? []).flatMap((note) => [note, '']),
    'Where the queues are, and how it answers:',
    '',
    ...optionLines(targetOptions),
    '',
    examples.length > 1 ? 'Examples:' : 'Example:',
    '',
    ...examples.map((example) => `${INDENT}${example}`),
  ].join('\n')
}

export function overview(commands: readonly Pick<Command, 'name' | 'summary'>[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length)) + 2
  return [
    'PushPop from the command line.',
    '',
    `${INDENT}pushpop COMMAND [arguments] [options]`,
    '',
    ...commands.map(({ name, summary }) => `${INDENT}${name.padEnd(width)}${summary}`),
    '',
    `${INDENT}pushpop help COMMAND says what a command takes, with an example.`,
    '',
    'Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing there, 4 refused (locked, full, expired,',
    'not allowed, over a rate limit), 5 the doctor or verify found something, 6 a turn that is',
    'still to come, 130 interrupted, 141 the reader of the output has gone.',
  ].join('\n')
}

function optionLines(table: OptionTable): string[] {
  const rows = Object.entries(table).map(([name, option]) => [usageOf(name, option), option.help])
  const width = Math.max(0, ...rows.map(([usage = '']) => usage.length)) + 2
  return rows.map(([usage = '', help = '']) => `${INDENT}${usage.padEnd(width)}${help}`)
}
