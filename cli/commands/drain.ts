// `drain`: takes all items of a queue and writes them as lines. Items are locked, written, and only then acknowledged.
// So if the process is killed at any moment, each item is in the queue, in the lines, or in both; never in neither.
// While a slow reader takes its lines, the lock is extended; what cannot be written goes back at once.

import { delay } from '../../client/transport.ts'
import { ITEMS_PER_POP_MAX } from '../../engine/core/limits.ts'
import type { PopOutcome, PoppedItem } from '../../engine/queues.ts'
import { holdLock, lostLockCodes } from '../../shared/hold-lock.ts'
import { present } from '../../shared/wire.ts'
import { command, flag, integer, queueWord, text } from '../command.ts'
import { codeOf, exitCodes, explain, Failure, interrupted, wrongUsage } from '../failure.ts'
import { itemLine } from '../lines/item-lines.ts'
import { createLineFile, type LineFile, reopenLineFile, writtenBefore } from '../lines/line-file.ts'
import { queueLocked, type Target } from '../target/target.ts'
import { progressBarOn, tellWait } from '../terminal.ts'
import { counted } from '../text.ts'

/** Effectively unlimited; the option needs a maximum. */
const LIMIT_MAX = 1_000_000_000_000

export const drain = command({
  name: 'drain',
  summary: 'Takes all items and writes them as JSON lines; nothing is lost on the way',
  words: [queueWord],
  options: {
    file: text('F', 'write to F instead of stdout'),
    append: flag('with --file: add to what F holds'),
    limit: integer('N', 1, LIMIT_MAX, 'how many at most'),
    competing: flag('pass over items that others have locked'),
  },
  notes: [
    'A line is {"item", "priority", "id", "pushed_at", "deliveries"}, which import reads. Items are\n' +
      'acknowledged when their lines are written and, in a file, on the disk. If you kill it in between, up to\n' +
      '100 of them are in both: with --append the next run leaves out what F has already.',
  ],
  examples: [
    'pushpop drain orders --file orders.jsonl',
    'pushpop drain orders-deadletter | jq .item',
  ],
  async run({ given, words, io, isJson, interrupt, print, tell, target }) {
    const [queue = ''] = words
    if (given.append && given.file === undefined) {
      throw wrongUsage('Cannot drain because --append needs --file')
    }
    const queues = await target()
    const output = await openOutput(given.file, given.append === true)
    const progress = progressBarOn(io.stderr, 'Draining')
    let drained = 0
    try {
      await drainQueue({
        target: queues,
        queue,
        limit: given.limit ?? LIMIT_MAX,
        competing: given.competing === true,
        interrupt,
        async write(items) {
          if (output === undefined) return print(items.map(itemLine).join('\n'))
          const fresh = items.filter(({ id }) => !output.known.has(id))
          await output.file.write(fresh.map(itemLine))
        },
        onDrained(count) {
          drained = count
          progress.at(count, given.limit, counted(count, 'item'))
        },
        onWait({ message, retryAfterMs }) {
          progress.clear()
          if (!isJson) tellWait(tell, message, retryAfterMs)
        },
      })
      progress.clear()
      const sentence = `Drained ${counted(drained, 'item')} of ${queue}`
      if (interrupt.aborted) throw interrupted(`Stopped. ${sentence}; the rest is still there.`)
      // Items go to stdout. If they go to a file instead, stdout is free for the report.
      if (isJson && given.file !== undefined) {
        await print(JSON.stringify({ queue, items_drained: drained, file: given.file }))
      } else if (!isJson) {
        tell(given.file === undefined ? `${sentence}.` : `${sentence} into ${given.file}.`)
      }
      return exitCodes.done
    } catch (error) {
      const { exitCode, sentence, code } = explain(error)
      const isTold = exitCode === exitCodes.interrupted || exitCode === exitCodes.readerGone
      if (drained === 0 || isTold) throw error
      throw new Failure(
        exitCode,
        `${sentence}. Drained before: ${counted(drained, 'item')} of ${queue}; the rest is still there.`,
        { code, cause: error instanceof Failure ? error.cause : error },
      )
    } finally {
      progress.clear()
      await output?.file.close()
    }
  },
})

type Output = { readonly file: LineFile; readonly known: ReadonlySet<string> }

async function openOutput(name: string | undefined, append: boolean): Promise<Output | undefined> {
  if (name === undefined) return undefined
  const before = append ? await writtenBefore(name) : undefined
  if (before !== undefined) {
    return { file: await reopenLineFile(name, before.bytes), known: before.ids }
  }
  const hint = '--append goes on behind what it holds'
  return { file: await createLineFile(name, hint), known: new Set() }
}

type DrainRun = {
  readonly target: Target
  readonly queue: string
  readonly limit: number
  readonly competing: boolean
  readonly interrupt: AbortSignal
  /** Resolves when the items are safely where they belong. */
  write(items: readonly PoppedItem[]): Promise<void>
  onDrained(count: number): void
  /** The queue's limit makes it wait. */
  onWait(error: AtLimit): void
}

/** As long as the client waits for a call that the service refuses for the moment. */
const WAIT_MS_MAX = 60_000

/** Each pop acknowledges the batch before it: one request for each hundred items. */
async function drainQueue(run: DrainRun): Promise<{ drained: number }> {
  const { target, queue, limit, interrupt } = run
  let drained = 0
  /** The lock of items that are written, and not acknowledged yet. */
  let written: string | undefined
  const acknowledge = async (): Promise<void> => {
    if (written === undefined) return
    await target.acknowledge(queue, { lockId: written })
    written = undefined
  }
  try {
    while (drained < limit && !interrupt.aborted) {
      const count = Math.min(ITEMS_PER_POP_MAX, limit - drained)
      const popped = await popNext(run, count, { written, acknowledge })
      if (popped === undefined) break
      // Somebody else has the lock: then this pop did nothing, and acknowledged nothing.
      if (popped.kind === 'locked') {
        await acknowledge()
        throw queueLocked('drain', queue, popped.expiresAtMs)
      }
      written = undefined
      if (popped.kind === 'empty' && popped.more) continue
      if (popped.kind === 'empty') break
      const { items, lock } = popped
      if (lock === undefined) throw new Error('A pop that asked for a lock got items without one')
      if (interrupt.aborted) {
        await target.release(queue, { lockId: lock.id })
        break
      }
      await writeOrRelease(run, lock.id, items)
      written = lock.id
      drained += items.length
      run.onDrained(drained)
    }
  } finally {
    await acknowledge()
  }
  return { drained }
}

type Before = { readonly written: string | undefined; acknowledge(): Promise<void> }

/**
 * A pop that the queue's limit refuses acknowledges nothing. So we acknowledge before we wait: nobody should hold a
 * lock meanwhile. Returns nothing if Ctrl-C ended the wait.
 */
async function popNext(
  { target, queue, competing, interrupt, onWait }: DrainRun,
  count: number,
  { written, acknowledge }: Before,
): Promise<PopOutcome | undefined> {
  const request = { count, requireAck: true, ttlSeconds: TTL_SECONDS, competing }
  const untilMs = performance.now() + WAIT_MS_MAX
  for (let acknowledging = written; !interrupt.aborted; acknowledging = undefined) {
    try {
      return await target.pop(queue, present({ ...request, acknowledge: acknowledging }))
    } catch (error) {
      if (!isAtLimit(error)) throw error
      await acknowledge()
      if (performance.now() + error.retryAfterMs > untilMs) throw error
      onWait(error)
      await delay(error.retryAfterMs, interrupt)
    }
  }
  return undefined
}

type AtLimit = Error & { readonly retryAfterMs: number }

/** The engine's error or the client's; after a lost answer, the pop may have locked items all the same. */
const isAtLimit = (error: unknown): error is AtLimit =>
  codeOf(error) === 'RATE_LIMITED' &&
  (error as Partial<AtLimit>).retryAfterMs !== undefined &&
  (error as { outcome?: unknown }).outcome === undefined

async function writeOrRelease(
  { target, queue, write }: DrainRun,
  lockId: string,
  items: readonly PoppedItem[],
): Promise<void> {
  try {
    await holding(target, queue, lockId, () => write(items))
  } catch (error) {
    // The disk is full, or the reader has gone: others may have the items at once. If that fails too,
    // its error says less than the first one.
    await target.release(queue, { lockId }).catch(() => {})
    throw error
  }
}

/** Long enough to write a batch to any disk; nobody should wait longer if this process is killed. */
const TTL_SECONDS = 60

/** Keeps a lock alive while `work` goes on: the reader of our output may be slow. */
async function holding<T>(
  target: Target,
  queue: string,
  lockId: string,
  work: () => Promise<T>,
): Promise<T> {
  const lock = holdLock(lockId, {
    ttlSeconds: TTL_SECONDS,
    sinceMs: performance.now(),
    nowMs: () => performance.now(),
    sleep: delay,
    extend: () => target.extend(queue, { lockId, ttlSeconds: TTL_SECONDS }),
    late: (ms) => new Error(`No answer came within ${ms} ms`),
    // If the lock has ended anyway, the acknowledgement fails and says so.
    onTrouble() {},
    isLost: (error) => lostLockCodes.some((code) => code === codeOf(error)),
  })
  try {
    return await work()
  } finally {
    lock.letGo()
  }
}
