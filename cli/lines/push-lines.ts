// What push and import share: lines become batches, pushed one after the other, which is the order in which they will
// be popped. Whatever goes wrong, the account says up to which line everything was pushed, and of what it is not known.

import {
  ITEMS_PER_PUSH_MAX,
  PRIORITIES_PER_PUSH_MAX,
  PUSH_BYTES_MAX,
} from '../../engine/core/limits.ts'
import type { PushItem } from '../../engine/queues.ts'
import { givenFields } from '../../shared/item-fields.ts'
import { present } from '../../shared/wire.ts'
import { codeOf, exitCodeOf, exitCodes, Failure, interrupted, sentenceOf } from '../failure.ts'
import type { PushedOrAccepted, Target } from '../target/target.ts'
import type { ProgressBar } from '../terminal.ts'
import { counted, grouped } from '../text.ts'
import { BadLine } from './read-lines.ts'

type PushRun = {
  readonly target: Target
  readonly queue: string
  /** What messages call the input: a file, stdin, or `THE_ARGUMENTS`. */
  readonly source: string
  readonly items: AsyncIterable<LineItem>
  readonly bytes: number | undefined
  readonly progress: ProgressBar
  readonly interrupt: AbortSignal
  /** Push the lines that are there when no more have come for this long. */
  readonly idleMs?: number | undefined
  /** Push into the inbox, if the service has one. */
  readonly respondAsync?: boolean
  keyOf(batch: Batch, index: number): string | undefined
  onPushed(batch: Batch, pushed: PushedOrAccepted): Promise<void>
}

/** `added` by this run; the others had been pushed before, with the same keys. */
type Account = {
  readonly added: number
  readonly before: number
  /** They are in the inbox. */
  readonly accepted?: boolean
}

/** In order, one push at a time: that is the order in which they will be popped. */
export async function pushBatches(run: PushRun): Promise<Account> {
  const { target, queue, progress, interrupt } = run
  let added = 0
  let before = 0
  let lastLine = 0
  let index = 0
  let accepted = false
  try {
    for await (const batch of batchesOf(run.items, run.idleMs)) {
      if (interrupt.aborted) break
      const idempotencyKey = run.keyOf(batch, index)
      const items = batch.items.map(({ line: _, offset: __, raw: ___, ...item }) => item)
      const request = present({
        items,
        idempotencyKey,
        respondAsync: run.respondAsync || undefined,
      })
      const pushed = await target.push(queue, request).catch((error: unknown) => {
        throw notPushed(run, batch, added + before, lastLine, error)
      })
      accepted ||= pushed.messageId !== undefined
      if (pushed.repeated) before += items.length
      else added += items.length
      lastLine = batch.lastLine
      index += 1
      await run.onPushed(batch, pushed)
      progress.at(batch.items.at(-1)?.offset ?? 0, run.bytes, counted(added + before, 'item'))
    }
  } catch (error) {
    if (error instanceof BadLine) throw badInput(run, error, added + before, lastLine)
    throw error
  } finally {
    progress.clear()
  }
  if (interrupt.aborted) {
    throw interrupted(`Stopped. ${sentenceOfDone(run, added + before, lastLine)}`)
  }
  return { added, before, accepted }
}

/** `Pushed 200 items to orders; 1,000 had been pushed before.` */
export function accountSentence(
  { added, before }: Account,
  done: (items: string) => string,
): string {
  if (before === 0) return `${done(counted(added, 'item'))}.`
  if (added > 0)
    return `${done(counted(added, 'item'))}; ${grouped(before)} had been pushed before.`
  const which = before === 1 ? 'the item' : `the ${grouped(before)} items`
  return `${done('nothing')}: ${which} had been pushed before.`
}

function badInput(run: PushRun, { number, message }: BadLine, pushed: number, lastLine: number) {
  return new Failure(
    exitCodes.wrongUsage,
    `Cannot push ${lineName(run, number)} because ${message}. ` +
      sentenceOfDone(run, pushed, lastLine),
    { code: 'INVALID_ITEM' },
  )
}

function notPushed(run: PushRun, batch: Batch, pushed: number, last: number, error: unknown) {
  const { firstLine, lastLine } = batch
  // One item, as an argument: the service's own sentence says it all.
  if (firstLine === lastLine && pushed === 0 && batch.items.length === 1) return error
  const isUnknown = (error as { outcome?: unknown }).outcome === 'unknown'
  const isArguments = run.source === THE_ARGUMENTS
  const lines = `${isArguments ? 'arguments' : 'lines'} ${grouped(firstLine)} to ${grouped(lastLine)}`
  const doubt = isUnknown ? ` Whether ${lines} were pushed is not known.` : ''
  const which = isArguments ? lines : `${lines} of ${run.source}`
  const said = sentenceOf(error)
  // The service says itself that it cannot push: one sentence is enough.
  const why = /^Cannot push (?=with |because )/.test(said)
    ? said.replace(/^Cannot push /, '')
    : `because of this: ${said}`
  const code = codeOf(error)
  return new Failure(
    code === undefined ? exitCodes.failed : exitCodeOf(code),
    `Cannot push ${which} ${why}. ` + `${sentenceOfDone(run, pushed, last)}${doubt}`,
    { cause: error, code },
  )
}

export const THE_ARGUMENTS = 'the arguments'

const lineName = ({ source }: PushRun, number: number): string =>
  source === THE_ARGUMENTS ? `argument ${number}` : `line ${grouped(number)} of ${source}`

function sentenceOfDone({ queue, source }: PushRun, pushed: number, lastLine: number): string {
  if (pushed === 0) return 'Nothing was pushed.'
  const last = `${source === THE_ARGUMENTS ? 'argument' : 'line'} ${grouped(lastLine)}`
  return `Pushed before: ${counted(pushed, 'item')}, up to ${last}, to ${queue}.`
}

/** An item to push, and which line it came from. */
export type LineItem = PushItem & {
  readonly line: number
  readonly offset: number
  /** The whole line, if it says more than the item. */
  readonly raw?: string
}

export type Batch = {
  readonly items: readonly LineItem[]
  /** Lines of the input, from 1, both included. */
  readonly firstLine: number
  readonly lastLine: number
  readonly bytes: number
}

/** `{"item":,"priority":2147483647},` around each item in a request's body, and some. */
const AROUND_ITEM_BYTES = 40
/** `,"expires_in_seconds":157766400`; `,"deliver_at":1924992000.123` and `,"delay_seconds":157766400` are shorter. */
const TIME_BYTES = 32
/** A kilobyte less than the body may have, which leaves room for the text around the list. */
const BATCH_BYTES_MAX = PUSH_BYTES_MAX - 1_024

/**
 * As many items as one push takes. Where a batch ends depends only on the items before it: the same
 * input makes the same batches each time, and their idempotency keys rely on that.
 *
 * With `idleMs`, a batch also ends when no line has come for that long: the items of a slow pipe should not
 * wait for the thousandth line.
 */
export async function* batchesOf(
  items: AsyncIterable<LineItem>,
  idleMs?: number,
): AsyncGenerator<Batch> {
  const iterator = items[Symbol.asyncIterator]()
  let batch: LineItem[] = []
  let bytes = 0
  const priorities = new Set<number | undefined>()
  try {
    for (let next = iterator.next(); ; ) {
      const arrived =
        idleMs === undefined || batch.length === 0 ? await next : await within(idleMs, next)
      if (arrived !== 'idle' && arrived.done) break
      const size = arrived === 'idle' ? 0 : sizeOf(arrived.value)
      const isFull = batch.length === ITEMS_PER_PUSH_MAX || bytes + size > BATCH_BYTES_MAX
      const isWide = arrived !== 'idle' && isOneTooMany(priorities, arrived.value)
      if (batch.length > 0 && (arrived === 'idle' || isFull || isWide)) {
        yield batchOf(batch, bytes)
        batch = []
        bytes = 0
        priorities.clear()
      }
      if (arrived === 'idle') continue
      batch.push(arrived.value)
      priorities.add(arrived.value.priority)
      bytes += size
      next = iterator.next()
    }
  } finally {
    // If the reader stops early, this closes the source of the lines.
    await iterator.return?.(undefined)
  }
  if (batch.length > 0) yield batchOf(batch, bytes)
}

const isOneTooMany = (priorities: ReadonlySet<unknown>, { priority }: LineItem): boolean =>
  priorities.size === PRIORITIES_PER_PUSH_MAX && !priorities.has(priority)

function sizeOf(item: LineItem): number {
  let bytes = Buffer.byteLength(item.text) + AROUND_ITEM_BYTES
  for (const { name, wire } of givenFields) {
    if (name === 'priority' || item[name] === undefined) continue
    bytes += Math.max(TIME_BYTES, Buffer.byteLength(JSON.stringify({ [wire]: item[name] })))
  }
  return bytes
}

async function within<T>(ms: number, arriving: Promise<T>): Promise<T | 'idle'> {
  let timer: NodeJS.Timeout | undefined
  const idle = new Promise<'idle'>((resolve) => {
    timer = setTimeout(resolve, ms, 'idle')
  })
  try {
    return await Promise.race([arriving, idle])
  } finally {
    clearTimeout(timer)
  }
}

const batchOf = (items: readonly LineItem[], bytes: number): Batch => ({
  items,
  bytes,
  firstLine: items[0]?.line ?? 0,
  lastLine: items.at(-1)?.line ?? 0,
})
