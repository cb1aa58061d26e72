// Ends the local stack at random moments with work waiting, by a signal that asks or one that does not, and starts it
// again on the same data. Nothing is pushed after that: what was answered before has to be handled, and soon. In
// some rounds the handler's file throws a few times before it can be loaded.

import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Random } from '../../../testing/random.ts'
import { until } from '../../local/a-stack.ts'
import { type Started, start } from '../../local/a-start.ts'
import { type WorkApp, writeWorkApp } from './an-app.ts'

export type EndsOptions = {
  readonly rounds: number
  readonly seed: number
  /** A folder for the app and its data. */
  readonly folder: string
  readonly onRound?: (round: Round) => void
}

export type Round = {
  readonly signal: NodeJS.Signals
  /** After the first push. */
  readonly afterMs: number
  /** How often the handler was to fail at its start. */
  readonly brokenStarts: number
  /** What was pushed and not handled when the stack ended. */
  readonly waiting: number
  /** From the next start's banner until the last of them was handled. */
  readonly longestMs: number
  readonly lost: readonly string[]
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGKILL'] as const
const QUEUES = ['work-1', 'work-2', 'work-3']
const ITEMS_MAX = 12
/** Some are at work when the stack ends, for longer than it waits for them. */
const TAKES_MS = [0, 20, 200, 200, 1_500]
/** While pushes come, or when all is quiet. */
const ENDS_AFTER_MS = 4_000
/** A start takes about so long: sometimes it is ended in the middle as well. */
const START_MS = 1_000
/** Far more than any item may wait: then it is lost. */
const LOST_MS = 60_000

export async function runEnds({ rounds, seed, folder, onRound }: EndsOptions): Promise<Round[]> {
  const random = new Random(seed)
  const work = writeWorkApp(join(folder, 'app'))
  const startOne = () =>
    start(['--app', work.app, '--data', join(folder, 'data'), '--port', '0'], {})
  const pushed = new Set<string>()
  const done: Round[] = []
  let running = startOne()
  try {
    // The first start synthesises.
    await running.url()
    for (let round = 0; round < rounds; round += 1) {
      const signal = SIGNALS[round % SIGNALS.length] as (typeof SIGNALS)[number]
      // More than Lambda tries an event: then nobody calls the function any more.
      const brokenStarts = round % 3 === 1 ? 3 + random.integer(5) : 0
      const afterMs = random.integer(ENDS_AFTER_MS)
      if (brokenStarts > 0) work.breakStarts(brokenStarts)
      const producing = produce(running, random, pushed, round)
      await delay(afterMs)
      running.child.kill(signal)
      await running.ended
      await producing
      const handled = work.handled()
      const waiting = [...pushed].filter((text) => !handled.has(text))

      if (random.integer(4) === 0) {
        const begun = startOne()
        await delay(random.integer(START_MS))
        begun.child.kill(signal)
        await begun.ended
      }
      running = startOne()
      await running.url()
      const readyMs = Date.now()
      const isOver = () => Date.now() - readyMs > LOST_MS
      await until(() => isOver() || waiting.every((text) => work.handled().has(text)))
      const report = reportOf(work, waiting, readyMs)
      done.push({ signal, afterMs, brokenStarts, ...report })
      onRound?.(done.at(-1) as Round)
    }
    return done
  } finally {
    running.child.kill('SIGTERM')
    await running.ended
  }
}

function reportOf(work: WorkApp, waiting: readonly string[], readyMs: number) {
  const handled = work.handled()
  const times = waiting.flatMap((text) => handled.get(text)?.[0] ?? [])
  return {
    waiting: waiting.length,
    longestMs: Math.max(0, ...times.map((ms) => ms - readyMs)),
    lost: waiting.filter((text) => !handled.has(text)),
  }
}

/** Pushes until the stack is gone. Only what was answered counts. */
async function produce(
  running: Started,
  random: Random,
  pushed: Set<string>,
  round: number,
): Promise<void> {
  const url = await running.url()
  for (let n = 0; n < ITEMS_MAX; n += 1) {
    const takesMs = TAKES_MS[random.integer(TAKES_MS.length)]
    const text = JSON.stringify({ id: `${round}-${n}`, takesMs })
    const queue = QUEUES[random.integer(QUEUES.length)]
    try {
      const response = await fetch(`${url}/queue/${queue}/push`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `{"item":${text}}`,
      })
      if (response.ok) pushed.add(text)
    } catch {
      // The stack has ended.
      return
    }
    await delay(random.integer(200))
  }
}
