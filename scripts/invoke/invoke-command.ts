import { setTimeout as delay } from 'node:timers/promises'
import type { Outcome } from '../../local/functions/messages.ts'
import { StartError } from '../../local/start-error.ts'
import { type LocalStack, startLocalStack } from '../../local/start-local-stack.ts'
import { lockIn, withLock } from './last-lock.ts'
import { type Arguments, readArguments, usage } from './read-arguments.ts'

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
