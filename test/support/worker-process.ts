// A script in a separate process that answers questions, several at a time if need be.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'

type WorkerProcess<Question, Answer> = {
  /** Fails when the process ends first. */
  ask(question: Question): Promise<Answer>
  stop(): Promise<void>
}

type Asked<Question> = { readonly number: number; readonly question: Question }
type Answered<Answer> = { readonly number: number; readonly answer: Answer }

const READY = 'ready'

/**
 * There is one process a core: helpers of the garbage collector would only take time from the others. With
 * room for what is young, from the start, it runs seldom. Together that is a quarter of a simulation's time.
 */
const execArgv = [
  '--single-threaded-gc',
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
  // Most functions are warm and few are hot: to optimise all the warm ones costs more than they give back.
  '--invocation-count-for-turbofan=30000',
]

/** Resolves when the script is ready; it finds the setting by `settingOfWorker`. */
export async function startWorker<Question, Answer>(
  script: URL,
  setting: object = {},
  options: {
    /** It takes only what other processes leave of the cores. */
    readonly patient?: boolean
  } = {},
): Promise<WorkerProcess<Question, Answer>> {
  const child = fork(script, [JSON.stringify(setting)], { execArgv })
  if (options.patient && child.pid) setPriority(child.pid, constants.priority.PRIORITY_LOW)
  const waiting = new Map<number, (answer: Answer) => void>()
  const ended = once(child, 'exit')
  const death = ended.then(([code, signal]): never => {
    throw new Error(`Cannot go on because ${script.pathname} ended: ${signal ?? code}`)
  })
  death.catch(() => {})
  let asked = 0

  const ready = new Promise<void>((resolve) => {
    child.on('message', (message: typeof READY | Answered<Answer>) => {
      if (message === READY) resolve()
      else waiting.get(message.number)?.(message.answer)
    })
  })
  await Promise.race([ready, death])
  return {
    ask(question) {
      asked += 1
      const number = asked
      const answer = new Promise<Answer>((resolve) => waiting.set(number, resolve))
      child.send({ number, question } satisfies Asked<Question>)
      return Promise.race([answer, death]).finally(() => waiting.delete(number))
    },
    async stop() {
      child.kill()
      await ended
    },
  }
}

export const settingOfWorker = <Setting>(): Setting =>
  JSON.parse(process.argv[2] ?? '{}') as Setting

/** In the script: answers until its parent ends. */
export function serveQuestions<Question, Answer>(
  answer: (question: Question) => Promise<Answer>,
): void {
  const send = (message: typeof READY | Answered<Answer>) => process.send?.(message)
  process.on('message', ({ number, question }: Asked<Question>) => {
    answer(question).then(
      (found) => send({ number, answer: found }),
      (error: unknown) => {
        console.error(error)
        process.exit(1)
      },
    )
  })
  process.on('disconnect', () => process.exit(0))
  send(READY)
}
