// One run: from the words of a command line to an exit code. Nothing here knows the process.

import { nearest } from '../local/terminal/nearest.ts'
import { paintFor } from '../local/terminal/paint.ts'
import { readOptions } from './arguments/read-options.ts'
import { readWords } from './arguments/read-words.ts'
import { targetOptions } from './arguments/target-options.ts'
import type { Command, Context, Io } from './command.ts'
import { commands } from './commands.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { explain } from './explain.ts'
import { wrongUsage } from './failure.ts'
import { helpOf, overview } from './help.ts'
import { start } from './start.ts'
import { openTarget } from './target/open-target.ts'
import type { Target } from './target/target.ts'
import { write, writeQuietly } from './terminal/write.ts'
import { asTyped } from './typed-as.ts'
import { version } from './version.ts'

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
  const meant = nearest(name, ['start', 'help', ...Object.keys(commands)])
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
