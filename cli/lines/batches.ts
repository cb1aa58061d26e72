import { ITEMS_PER_PUSH_MAX, PUSH_BYTES_MAX } from '../../engine/core/limits.ts'
import type { PushItem } from '../../engine/queues.ts'

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
  try {
    for (let next = iterator.next(); ; ) {
      const arrived =
        idleMs === undefined || batch.length === 0 ? await next : await within(idleMs, next)
      if (arrived !== 'idle' && arrived.done) break
      const size = arrived === 'idle' ? 0 : sizeOf(arrived.value)
      const isFull = batch.length === ITEMS_PER_PUSH_MAX || bytes + size > BATCH_BYTES_MAX
      if (batch.length > 0 && (arrived === 'idle' || isFull)) {
        yield batchOf(batch, bytes)
        batch = []
        bytes = 0
      }
      if (arrived === 'idle') continue
      batch.push(arrived.value)
      bytes += size
      next = iterator.next()
    }
  } finally {
    // If the reader stops early, this closes the source of the lines.
    await iterator.return?.(undefined)
  }
  if (batch.length > 0) yield batchOf(batch, bytes)
}

const sizeOf = ({ text, expiresInSeconds, delaySeconds, deliverAtMs }: LineItem): number => {
  const times = [expiresInSeconds, delaySeconds, deliverAtMs].filter((time) => time !== undefined)
  return Buffer.byteLength(text) + AROUND_ITEM_BYTES + times.length * TIME_BYTES
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
