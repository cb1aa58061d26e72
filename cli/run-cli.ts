// One run: from the words of a command line to an exit code. Nothing here knows the process. Commands, and the stack on
// one machine, are loaded when they are asked for: the start loads neither the engine nor a package.

import { dynoxideToInstall, findDynoxide } from '../local/stores/dynoxide-binary.ts'
import { paintFor } from '../local/terminal/terminal.ts'
import { nodeTooOld } from '../shared/node-version.ts'
import { nameMeant } from '../shared/options.ts'
import { readOptions, readWords } from './arguments.ts'
import {
  type Command,
  type Context,
  type Io,
  type OptionTable,
  targetOptions,
  usageOf,
  usageOfWord,
} from './command.ts'
import { type ExitCode, exitCodes, explain, failed, wrongUsage } from './failure.ts'
import { asTyped, version } from './program.ts'
import { openTarget } from './target/open.ts'
import type { Target } from './target/target.ts'
import { write, writeQuietly } from './terminal.ts'

const START_SUMMARY = 'Runs PushPop on this machine'

export async function runCli(args: readonly string[], io: Io): Promise<ExitCode> {
  // The reader may close the pipe first; our write then fails, and we handle that.
  for (const stream of [io.stdout, io.stderr]) stream.on('error', () => {})
  try {
    return await dispatch(args, io)
  } catch (error) {
    return report(error, io, args.includes('--json'))
  }
}

async function dispatch([name, ...rest]: readonly string[], io: Io): Promise<ExitCode> {
  switch (name) {
    case undefined:
      writeQuietly(io.stderr, `${hinted(await overviewOfAll(), io)}\n`)
      return exitCodes.wrongUsage
    case '--version':
      await write(io.stdout, `${version()}\n`)
      return exitCodes.done
    case 'help':
    case '--help':
    case '-h':
      return help(rest, io)
    case 'start':
      return start(rest)
    default:
      return run(await commandNamed(name), rest, io)
  }
}

async function run(command: Command, args: readonly string[], io: Io): Promise<ExitCode> {
  const behind = args.indexOf('--')
  const options = behind < 0 ? args : args.slice(0, behind)
  // Before anything else is checked: somebody who asks for help should not get an error first.
  if (options.includes('--help') || options.includes('-h')) {
    await write(io.stdout, `${hinted(helpOf(command), io)}\n`)
    return exitCodes.done
  }
  const table = { ...targetOptions, ...command.options }
  const { given, words } = readOptions(command.name, args, table)
  readWords(command.name, words, command.words)

  let opened: Promise<Target> | undefined
  const context: Context<typeof table> = {
    given,
    words,
    io,
    isJson: given.json === true,
    interrupt: io.interrupt,
    paint: paintFor(io.stderr, io.env),
    paintOut: paintFor(io.stdout, io.env),
    print: (line) => write(io.stdout, `${line}\n`),
    tell: (line) => writeQuietly(io.stderr, `${hinted(line, io)}\n`),
    target() {
      opened ??= openTarget(given, io.env, context.isJson ? () => {} : context.tell)
      return opened
    },
  }
  try {
    return await command.run(context)
  } finally {
    await opened?.then(
      (target) => target.close(),
      // If it could not be opened, the command that asked for it has failed with that error.
      () => {},
    )
  }
}

async function help([name]: readonly string[], io: Io): Promise<ExitCode> {
  if (name === 'start') return start(['--help'])
  const text = name === undefined ? await overviewOfAll() : helpOf(await commandNamed(name))
  await write(io.stdout, `${hinted(text, io)}\n`)
  return exitCodes.done
}

async function overviewOfAll(): Promise<string> {
  const all = await Promise.all(Object.values(commands).map((load) => load()))
  return overview([{ name: 'start', summary: START_SUMMARY }, ...all])
}

async function commandNamed(name: string): Promise<Command> {
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (load !== undefined) return load()
  const meant = nameMeant(name, ['start', 'help', ...Object.keys(commands)])
  const hint = meant === undefined ? 'pushpop help lists them' : `did you mean ${meant}?`
  throw wrongUsage(`There is no command ${JSON.stringify(name)}; ${hint}`)
}

/** Sentences go to stderr, with --json as JSON: stdout is for the result alone. */
function report(error: unknown, io: Io, asJson: boolean): ExitCode {
  const { exitCode, code, outcome, retryable, ...explained } = explain(error)
  const sentence = hinted(explained.sentence, io)
  if (exitCode === exitCodes.readerGone) return exitCode
  const told = asJson
    ? JSON.stringify({ success: false, error_code: code, message: sentence, retryable, outcome })
    : paintFor(io.stderr, io.env)(exitCode === exitCodes.interrupted ? 'yellow' : 'red', sentence)
  writeQuietly(io.stderr, `${told}\n`)
  return exitCode
}

const hinted = (text: string, { program }: Io): string =>
  asTyped(text, program, ['COMMAND', 'help', 'start', ...Object.keys(commands)])

const INDENT = '  '

function helpOf({ name, summary, words, options, notes, examples }: Command): string {
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

function overview(commands: readonly Pick<Command, 'name' | 'summary'>[]): string {
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

/** All commands, in the order that help lists them; each is loaded when it is asked for. */
export const commands: Readonly<Record<string, () => Promise<Command>>> = {
  push: async () => erased((await import('./commands/push.ts')).push),
  pop: async () => erased((await import('./commands/pop.ts')).pop),
  ack: async () => erased((await import('./commands/settle.ts')).ack),
  release: async () => erased((await import('./commands/settle.ts')).release),
  peek: async () => erased((await import('./commands/look.ts')).peek),
  scheduled: async () => erased((await import('./commands/look.ts')).scheduled),
  stats: async () => erased((await import('./commands/stats.ts')).stats),
  drain: async () => erased((await import('./commands/drain.ts')).drain),
  export: async () => erased((await import('./commands/export.ts')).exportItems),
  import: async () => erased((await import('./commands/import.ts')).importItems),
  config: async () => erased((await import('./commands/config.ts')).config),
  cancel: async () => erased((await import('./commands/by-id.ts')).cancel),
  move: async () => erased((await import('./commands/by-id.ts')).move),
  redrive: async () => erased((await import('./commands/many-items.ts')).redrive),
  purge: async () => erased((await import('./commands/many-items.ts')).purge),
  schedules: async () => erased((await import('./commands/schedules.ts')).schedules),
  'queue-config': async () => erased((await import('./commands/patterns.ts')).queueConfig),
  rate: async () => erased((await import('./commands/rate.ts')).rate),
  'rate-state': async () => erased((await import('./commands/rate-config.ts')).rateState),
  'rate-config': async () => erased((await import('./commands/rate-config.ts')).rateConfig),
  'rate-patterns': async () => erased((await import('./commands/patterns.ts')).ratePatterns),
  'rate-ticket': async () => erased((await import('./commands/rate.ts')).rateTicket),
  'rate-secret': async () => erased((await import('./commands/rate-secret.ts')).rateSecret),
  doctor: async () => erased((await import('./commands/doctor.ts')).doctor),
  verify: async () => erased((await import('./commands/verify.ts')).verify),
}

/** A command only ever gets options that were read by its own table. */
const erased = (it: unknown): Command => it as Command

/**
 * The packages that the stack on one machine needs beside this one and the binary of its DynamoDB. They are not
 * dependencies, because a program that only pushes and pops needs none of these 190 MB.
 */
const stores = process.env.PUSHPOP_S3_ENDPOINT ? [] : ['@20minutes/s3rver']
const cdk = ['aws-cdk-lib', 'constructs']

/** Its options are those of `npm start`. */
export async function start(args: readonly string[]): Promise<ExitCode> {
  if (!args.includes('--help') && !args.includes('-h')) checkWhatItNeeds(args)
  const { startCommand } = await import('../local/terminal/start-command.ts')
  return (await startCommand(args, 'pushpop start')) as ExitCode
}

function checkWhatItNeeds(args: readonly string[]): void {
  // The functions are bundled for Lambda's Node, which is also the one that s3rver needs.
  const tooOld = nodeTooOld('24.0', 'the stack on one machine')
  if (tooOld !== undefined) throw failed(tooOld)
  // Your own CDK app brings its CDK.
  const isOwnApp = args.some((arg) => arg === '--app' || arg.startsWith('--app='))
  const missing = [...stores, ...(isOwnApp ? [] : cdk)].filter((name) => !isInstalled(name))
  const dynoxide = missingDynoxide()
  const commands = [
    ...(missing.length > 0 ? [`npm install --save-dev ${missing.join(' ')}`] : []),
    ...(dynoxide === undefined ? [] : [`npm install --save-optional ${dynoxide}`]),
  ]
  if (commands.length > 0) {
    throw failed(
      'Cannot start because the stack on one machine needs packages that are not installed: ' +
        commands.join(', and '),
    )
  }
}

/**
 * The embedded DynamoDB has a package for each platform. It is optional for npm, so that the same
 * project can be installed on another platform.
 */
function missingDynoxide(): string | undefined {
  if (process.env.PUSHPOP_DYNAMODB_ENDPOINT || findDynoxide(process)) return undefined
  return dynoxideToInstall(process)
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
