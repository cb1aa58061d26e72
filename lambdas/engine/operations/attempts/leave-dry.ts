import { hasFree } from '../../core/flags.ts'
import { recordKey } from '../../core/keys.ts'
import type { QueueRecord } from '../../core/record.ts'
import { dryUpdate } from '../../store/dry-update.ts'
import { attempts } from './attempts.ts'
import { act, again, answer, asStored, type Known, lost } from './decision.ts'
import { type Engine, readRecord, seen } from './engine.ts'

/** The store refuses the flag only if something came in between; mostly we still see it, and need not try again. */
const TRIES_MAX = 24

/**
 * Makes sure that a queue with nothing to pop says so in its record, because only then does the next
 * append make an event. The write that takes the last item mostly sets the flag; but a claim cannot know
 * that it took the last, and a pop that raced with appends did not set it. Returns a record that has
 * the flag, or something to pop.
 */
export async function leaveDry(engine: Engine, known: Known): Promise<QueueRecord | undefined> {
  const { record } = known
  if (!engine.events || record === undefined) return record
  return leaveDryFrom(engine, record.queue, known)
}

function leaveDryFrom(
  engine: Engine,
  queue: string,
  from: 'store' | Known,
): Promise<QueueRecord | undefined> {
  const course = { from, attemptsMax: TRIES_MAX, pausesFrom: 2 } as const
  return attempts<QueueRecord | undefined>(engine, queue, course, ({ record }) => {
    if (record === undefined || record.dry || hasFree(record)) {
      return answer(record)
    }
    return act(async () => {
      const written = await engine.dynamo.update(recordKey(queue), dryUpdate(record))
      if (written.kind === 'done') return again(asStored(seen(engine, queue, written.row)))
      // After a lost answer, the record shows whether the flag is set; setting it twice does no harm.
      return lost(
        asStored(
          written.kind === 'unknown'
            ? await readRecord(engine, queue)
            : seen(engine, queue, written.row),
        ),
      )
    })
  })
}

/**
 * The same once the answer is certain: we report a failure, and it changes nothing. Returns whether we know
 * in what state the queue is; if not, the answer makes the consumer ask again.
 */
export const leaveDryQuietly = (
  engine: Engine,
  record: QueueRecord | undefined,
): Promise<boolean> =>
  quietly(engine, record?.queue ?? '', () => leaveDry(engine, asStored(record)))

/**
 * The same after a transaction, which does not return the record it left: a claim may have taken the rest while the
 * transaction was on its way.
 */
export async function leaveDryUnseen(engine: Engine, queue: string): Promise<void> {
  if (engine.events) await quietly(engine, queue, () => leaveDryFrom(engine, queue, 'store'))
}

async function quietly(
  engine: Engine,
  queue: string,
  leave: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await leave()
    return true
  } catch (error) {
    engine.onBackgroundError(error, { queue, step: 'leave-dry' })
    return false
  }
}
