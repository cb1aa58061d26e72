// One command for all queues with a prefix: page by page, a few queues at a time. A queue that fails is
// reported, and the others are done.

import { type BulkResult, eachQueue } from '../../client/bulk.ts'
import { present } from '../../shared/wire.ts'
import type { OptionTable } from '../arguments/option-table.ts'
import type { Context } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { explain } from '../explain.ts'
import { Failure, interrupted } from '../failure.ts'
import type { Listed } from '../target/target.ts'
import { counted } from '../terminal/amounts.ts'
import { progressBarOn } from '../terminal/progress-bar.ts'

type Run<Answer> = {
  readonly prefix: string
  /** For the bar: `Purging`. */
  readonly label: string
  /** What to say if there is none: `no dead-letter queue`. */
  readonly nothing: string
  readonly queues: AsyncIterable<string>
  work(queue: string): Promise<Answer>
  /** A line of JSON for a queue that was done. */
  lineOf(queue: string, answer: Answer): object
  itemsOf(answer: Answer): number
  /** `Deleted 12 items of 3 queues` */
  sentence(items: string, queues: string): string
}

/** If so many fail, all of them will: nobody reads ten thousand lines that say the same. */
const FAILURES_MAX = 100

export async function overPrefix<Answer extends object>(
  context: Pick<Context<OptionTable>, 'io' | 'isJson' | 'interrupt' | 'print' | 'tell' | 'paint'>,
  run: Run<Answer>,
): Promise<ExitCode> {
  const { io, isJson, interrupt, print, tell, paint } = context
  const bar = progressBarOn(io.stderr, run.label)
  const failures: ExitCode[] = []
  let done = 0
  let items = 0
  const told = () => {
    const sum = run.sentence(counted(items, 'item'), counted(done, 'queue'))
    return failures.length === 0 ? sum : `${sum}; ${counted(failures.length, 'queue')} failed`
  }
  try {
    for await (const result of eachQueue(run.queues, run.work, { signal: interrupt })) {
      if (result.kind === 'failed') {
        bar.clear()
        const { exitCode, sentence, line } = failureOf(result)
        failures.push(exitCode)
        if (isJson) await print(line)
        else tell(paint('red', `${result.id}: ${sentence}`))
        if (failures.length < FAILURES_MAX) continue
        throw new Failure(exitCode, `Stopped because so many queues failed. ${told()}.`)
      }
      done += 1
      items += run.itemsOf(result)
      if (isJson) await print(JSON.stringify(run.lineOf(result.id, result)))
      bar.at(0, undefined, `${counted(done, 'queue')}, ${counted(items, 'item')}`)
    }
  } catch (error) {
    if (error instanceof Failure || done + failures.length === 0) throw error
    const { exitCode, sentence, code } = explain(error)
    throw new Failure(exitCode, `${sentence}. ${told()}.`, { code, cause: error })
  } finally {
    bar.clear()
  }
  if (interrupt.aborted) throw interrupted(`Stopped. ${told()}.`)
  if (done + failures.length === 0) {
    if (!isJson) tell(`There is ${run.nothing} whose id begins with ${JSON.stringify(run.prefix)}.`)
    return exitCodes.nothingThere
  }
  if (!isJson) tell(`${told()}.`)
  // A fault weighs more than a refusal: it may pass.
  return failures.includes(exitCodes.failed) ? exitCodes.failed : (failures[0] ?? exitCodes.done)
}

export async function* idsOf(listed: AsyncIterable<Listed>): AsyncGenerator<string> {
  for await (const { queue } of listed) yield queue
}

function failureOf({ id, error }: Extract<BulkResult<object>, { kind: 'failed' }>) {
  const { exitCode, sentence, code, retryable, outcome } = explain(error)
  const line = JSON.stringify(
    present({ queue: id, success: false, error_code: code, message: sentence, retryable, outcome }),
  )
  return { exitCode, sentence, line }
}
