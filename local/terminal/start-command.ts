// `npm start` and `pushpop start`: starts the stack, says how to use it, and ends it when asked to.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf, StartError } from '../start-error.ts'
import { type LocalStack, startLocalStack } from '../start-local-stack.ts'
import { type StoreEndpoints, storeEnvironment, storesElsewhere } from '../stores/store-api.ts'
import { appHere, banner, noticeLine, outputLine, requestLine, withoutRepeated } from './output.ts'
import {
  helpOf,
  readArguments,
  type StartOptions,
  type Typed,
  takenByNpm,
} from './start-options.ts'
import { paintFor, progressOn, SAME_SIGNAL_MS } from './terminal.ts'

/** Returns the exit code. */
export async function startCommand(
  args: readonly string[],
  typed: Typed = 'npm start --',
): Promise<number> {
  const taken = takenByNpm(process.env, args)
  if (taken !== undefined) {
    process.stderr.write(`${taken}\n`)
    return 2
  }
  const read = readArguments(args, typed)
  switch (read.kind) {
    case 'help':
      process.stdout.write(`${helpOf(typed)}\n`)
      return 0
    case 'wrong':
      process.stderr.write(`${read.sentence}\n`)
      return 2
    case 'start':
      return run(read.options, typed)
    default:
      return read satisfies never
  }
}

async function run(options: StartOptions, typed: Typed): Promise<number> {
  const { port, directory, app, watch, envFile } = options
  const startedMs = performance.now()
  const paint = paintFor(process.stdout, process.env)
  const progress = progressOn(process.stdout)
  const isToBeShown = withoutRepeated()
  const print = (line: string | undefined) => line && process.stdout.write(`${line}\n`)
  // The reader of our output may go before us; then we write to nobody.
  process.stdout.on('error', () => {})
  const asked = watchForEnd()

  let stack: LocalStack | undefined
  try {
    if (envFile !== undefined) checkEnvFile(envFile)
    const starting = startLocalStack({
      port,
      directory,
      app,
      watch,
      ...(envFile !== undefined && { noSource: [envFile] }),
      signal: asked.signal,
      listeners: {
        onProgress: progress.step,
        onRequest: (request) => {
          const shown = isToBeShown(request)
          if (shown === 'hide') return
          const more = shown === 'show-the-last' ? paint('dim', '  … and so on') : ''
          print(`${requestLine(request, paint)}${more}`)
        },
        onOutput: (output) => print(outputLine(output, paint)),
        onNotice: (sentence) => print(noticeLine(sentence, paint)),
      },
    })
    stack = await Promise.race([starting, asked.toEnd.then(patience)])
  } catch (error) {
    progress.clear()
    if (asked.signal.aborted) return 0
    process.stderr.write(`${explain(error)}\n`)
    return 1
  }
  progress.clear()
  // We were asked to end, and the start did not notice in time: the stores' process ends without us.
  if (!stack) return 0
  const seconds = (performance.now() - startedMs) / 1000
  const shown = directory === undefined ? {} : { directory: asTyped(stack.directory) }
  const { url, urls, plan } = stack
  const alone = app === undefined && { appHere: appHere(process.cwd(), typed) }
  if (envFile !== undefined) writeEnvFile(envFile, stack)
  const elsewhere = storesElsewhere(process.env)
  print(banner({ url, urls, plan, seconds, typed, elsewhere, envFile, ...shown, ...alone }, paint))
  const failure = await Promise.race([stack.failed, asked.toEnd])
  if (failure) process.stderr.write(`${explain(failure)}\n`)
  else progress.step('Stopping')
  await stack.stop()
  progress.clear()
  return failure ? 1 : 0
}

/** Longer than a start takes to give up what it has begun. */
const GIVE_UP_MS = 3_000

const patience = () => delay(GIVE_UP_MS, undefined)

/** One sentence for a problem that the user can fix; for a fault of ours, all that we know. */
function explain(error: unknown): string {
  if (error instanceof StartError) return error.message
  return `Cannot go on because of a fault in the local stack: ${
    error instanceof Error ? error.stack : messageOf(error)
  }`
}

type AskedToEnd = { readonly signal: AbortSignal; readonly toEnd: Promise<undefined> }

/**
 * How often we look for the parent's death. If `npm start` is killed outright, no signal comes; all that we
 * can see is another parent.
 */
const PARENT_EVERY_MS = 500

function watchForEnd(): AskedToEnd {
  const ending = new AbortController()
  const { promise, resolve: resolveToEnd } = Promise.withResolvers<undefined>()
  let firstMs = 0
  const end = () => {
    if (ending.signal.aborted && performance.now() - firstMs > SAME_SIGNAL_MS) {
      // The user asked again and will not wait; the host of the stores cleans up behind us.
      process.exit(130)
    }
    if (!ending.signal.aborted) firstMs = performance.now()
    ending.abort()
    resolveToEnd(undefined)
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, end)
  // Only under npm's script: a shell that started us in the background may well end before us.
  if (process.env.npm_lifecycle_event !== undefined) {
    const parent = process.ppid
    const watch = setInterval(() => {
      if (process.ppid === parent) return
      clearInterval(watch)
      end()
    }, PARENT_EVERY_MS).unref()
  }
  return { signal: ending.signal, toEnd: promise }
}

/** Relative if it is below the current folder. */
function asTyped(directory: string): string {
  const path = relative(process.cwd(), resolve(directory))
  return path.startsWith('..') || path === '' ? directory : path
}

const FIRST_LINE = '# The local stack wrote this, and writes it again at each start.'

type Reached = StoreEndpoints & Pick<LocalStack, 'plan'>

/** The file may be somebody's own, with secrets in it. */
function checkEnvFile(file: string): void {
  if (!existsSync(file) || readFileSync(file, 'utf8').startsWith(FIRST_LINE)) return
  throw new StartError(
    `Cannot write the environment to ${file} because another program or you wrote that file: name a new one`,
  )
}

function writeEnvFile(file: string, stack: Reached): void {
  const lines = Object.entries(environmentTo(stack)).map(
    ([name, value]) => `export ${name}='${value}'`,
  )
  writeFileSync(file, [FIRST_LINE, ...lines, ''].join('\n'))
}

/** A shell reads it, and so do Node (`--env-file`) and dotenv. */
function environmentTo({ plan, ...endpoints }: Reached) {
  const service = plan.functions.find(({ environment: { PUSHPOP_TABLE } }) => PUSHPOP_TABLE)
  const { PUSHPOP_TABLE = '', PUSHPOP_BUCKET = '' } = service?.environment ?? {}
  return {
    ...(service !== undefined && { PUSHPOP_TABLE, PUSHPOP_BUCKET }),
    // What the shell has of these would come first, or would not go with this key.
    PUSHPOP_ENDPOINT: '',
    AWS_PROFILE: '',
    AWS_SESSION_TOKEN: '',
    ...storeEnvironment(endpoints),
  }
}
