// `npm run invoke -- Push events/push.json` runs functions of the synthesised stack, one after the other, on
// the embedded stores: what `sam local invoke` does, without Docker.

import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Outcome } from '../local/functions/messages.ts'
import { StartError } from '../local/start-error.ts'
import { type LocalStack, startLocalStack } from '../local/start-local-stack.ts'

type Print = (line: string) => void

/** Returns the exit code: 0 if every function answered, whatever it answered. */
export async function invokeCommand(
  args: readonly string[],
  print: Print = console.log,
  printError: Print = console.error,
): Promise<number> {
  try {
    const read = readArguments(args)
    if (read === 'help') {
      print(usage)
      return 0
    }
    return await run(read, print, printError)
  } catch (error) {
    // If the user can fix a problem, we print one sentence; anything else is a fault, with its stack trace.
    if (!(error instanceof StartError)) throw error
    printError(error.message)
    return 1
  }
}

async function run({ steps, directory }: Arguments, print: Print, printError: Print) {
  let running: string | undefined
  let logged = () => {}
  const stack = await startLocalStack({
    port: 0,
    directory,
    listeners: {
      onProgress: (step) => printError(`${step} …`),
      // Others may run as well: a push wakes the housekeeping.
      onOutput: ({ functionId, text, json }) => {
        if (functionId !== running) return
        print(text)
        if (json !== undefined && lastLines.has(json.message)) logged()
      },
    },
  })
  try {
    for (const { functionId } of steps) checkFunction(stack, functionId)
    let lockId: string | undefined
    let failed = false
    for (const { functionId, file, event } of steps) {
      running = functionId
      print(`── ${functionId} ${file}`)
      const lastLine = new Promise<void>((resolve) => {
        logged = resolve
      })
      const outcome = await stack.invoke(functionId, withLock(event, lockId))
      // The log comes by another way than the answer, and we want to print it first.
      await Promise.race([lastLine, delay(LOG_MS_MAX)])
      print(told(outcome))
      if (outcome.kind === 'answered') lockId = lockIn(outcome.payload) ?? lockId
      else failed = true
    }
    return failed ? 1 : 0
  } finally {
    await stack.stop()
  }
}

/** What a function logs when it is done. */
const lastLines = new Set<unknown>(['request', 'run'])
/** A function that failed may have logged nothing. */
const LOG_MS_MAX = 300

function checkFunction({ plan }: LocalStack, functionId: string): void {
  const known = plan.functions.map(({ id }) => id)
  if (known.includes(functionId)) return
  throw new StartError(
    `Cannot run ${functionId} because the stack has no such function; it has ${known.join(', ')}`,
  )
}

/** An answer over HTTP as its status and body; any other as it is. */
function told(outcome: Outcome): string {
  if (outcome.kind === 'throttled') return 'It was not run'
  if (outcome.kind === 'failed') return `It failed: ${outcome.payload}`
  const answer = JSON.parse(outcome.payload) as { statusCode?: number; body?: string } | null
  if (answer?.statusCode === undefined) return outcome.payload
  return `${answer.statusCode} ${answer.body ?? ''}`
}

type Step = {
  /** Its logical id in the template. */
  readonly functionId: string
  readonly file: string
  readonly event: unknown
}

type Arguments = {
  readonly steps: readonly Step[]
  /** Keeps the data there; without it every call begins with nothing. */
  readonly directory: string | undefined
}

const usage = [
  'Runs functions of the synthesised stack on embedded stores, one after the other.',
  '',
  '  npm run invoke -- Push events/push.json [Pop events/pop.json …] [--data DIR]',
  '',
  '  --data DIR   keep the data in DIR, for the next call',
  '',
  'A lock id AAAAAAAAAAA in an event stands for the lock that an earlier pop of the same call made.',
].join('\n')

function readArguments(args: readonly string[]): Arguments | 'help' {
  const words: string[] = []
  let directory: string | undefined
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] as string
    if (word === '--help' || word === '-h') return 'help'
    if (word === '--data') {
      at += 1
      directory = args[at]
      if (!directory) throw new StartError('Cannot keep the data because --data needs a folder')
    } else if (word.startsWith('-')) {
      throw new StartError(`Cannot run anything because there is no option ${word}`)
    } else {
      words.push(word)
    }
  }
  if (words.length === 0) return 'help'
  const steps: Step[] = []
  for (let at = 0; at < words.length; at += 2) {
    const [functionId = '', file] = words.slice(at, at + 2)
    if (file === undefined) {
      throw new StartError(
        `Cannot run ${functionId} because no event is given; try ${functionId} events/push.json`,
      )
    }
    steps.push({ functionId, file, event: readEvent(file) })
  }
  return { steps, directory }
}

function readEvent(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    throw new StartError(
      `Cannot read ${file} because ${isMissing ? 'there is no such file' : 'it cannot be opened'}`,
    )
  }
  try {
    return JSON.parse(text)
  } catch {
    throw new StartError(`Cannot read ${file} because it is not JSON`)
  }
}

/** In the events of this project: the lock that an earlier pop made, which no file can know. */
const SOME_LOCK = 'AAAAAAAAAAA'

export const withLock = (event: unknown, lockId: string | undefined): unknown =>
  lockId === undefined
    ? event
    : JSON.parse(JSON.stringify(event).replaceAll(SOME_LOCK, () => lockId))

/** The lock in the answer of a pop. */
export function lockIn(payload: string): string | undefined {
  // An answer's body is JSON within JSON.
  return /\\"locked\\":true,\\"lock_id\\":\\"([A-Za-z0-9_-]{11})\\"/.exec(payload)?.[1]
}

if (import.meta.main) process.exit(await invokeCommand(process.argv.slice(2)))
