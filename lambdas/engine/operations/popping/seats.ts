// Seats for pops that wait. A held call keeps a whole environment of its function busy, and callers who wait
// come back at once: without a bound they would take all that the account has, however short each wait is.
// So there are so many seats over all processes, in one row. Who dies on a seat leaves it when it expires.

import type { Written } from '../../../foundation/dynamo.ts'
import { QueueError } from '../../../foundation/errors.ts'
import { seatsKey } from '../../core/keys.ts'
import type { Engine } from '../attempts/engine.ts'

type Seat = { readonly name?: string; readonly expiresMs: number }

/** Others may be faster to a seat that looked free. */
const TRIES_MAX = 3
/** The last pop comes after the wait. */
const LATER_MS = 5_000

/** Nothing where all are taken. Where seats are not bounded, one without a name. */
export async function takeSeat(engine: Engine, untilMs: number): Promise<Seat | undefined> {
  const { waitingPopsMax: seatsMax, clock, random } = engine
  const expiresMs = untilMs + LATER_MS
  if (seatsMax === undefined) return { expiresMs }
  let free = Array.from({ length: seatsMax }, (_, n) => `s${n}`)
  for (let tries = 1; tries <= TRIES_MAX && free.length > 0; tries += 1) {
    const name = free[Math.floor(random() * free.length)] as string
    const nowMs = clock.nowMs()
    // Somebody else sits there.
    const isFree = 'attribute_not_exists(#seat) OR #seat < :now'
    const written = await change(engine, name, isFree, { ':to': expiresMs, ':now': nowMs })
    if (written?.kind === 'done') return { name, expiresMs }
    if (written?.kind !== 'failed') return undefined
    const { row = {} } = written
    free = free.filter((one) => !(Number(row[one] ?? 0) >= nowMs))
  }
  return undefined
}

export async function leaveSeat(engine: Engine, queue: string, seat: Seat): Promise<void> {
  const { name, expiresMs } = seat
  if (name === undefined) return
  // It is still ours: it expired otherwise, and another may sit there.
  const left = await change(engine, name, '#seat = :mine', { ':to': 0, ':mine': expiresMs })
  if (left === undefined) {
    engine.onBackgroundError(new Error('A seat was not left'), { queue, step: 'leave-seat' })
  }
}

/** Nothing where the store has no answer for this: whoever asked does without. */
async function change(
  { dynamo }: Engine,
  name: string,
  condition: string,
  values: Record<string, number>,
): Promise<Written | undefined> {
  try {
    return await dynamo.update(seatsKey, {
      UpdateExpression: 'SET #seat = :to',
      ConditionExpression: condition,
      ExpressionAttributeNames: { '#seat': name },
      ExpressionAttributeValues: values,
    })
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    return undefined
  }
}
