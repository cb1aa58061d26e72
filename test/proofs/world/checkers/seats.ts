import { seatsKey } from '../../../../lambdas/engine/core/keys.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { Operation } from '../actors/callers/operation.ts'
import type { Model } from './model.ts'

/** Who sits where, while pops wait. */
export class Seats {
  readonly #takers = new Map<string, Operation>()
  readonly #displaced = new WeakSet<Operation>()
  /** When each seat was last occupied, as far as that is over. */
  readonly #endedMs = new Map<string, number>()
  readonly #untilMs = new Map<string, number>()

  take(seat: string, operation: Operation, untilMs: number): void {
    const before = this.#takers.get(seat)
    if (before !== undefined) this.#displaced.add(before)
    this.#takers.set(seat, operation)
    this.#untilMs.set(seat, untilMs)
  }

  /** Who had it. */
  leave(seat: string, nowMs: number): Operation | undefined {
    const taker = this.#takers.get(seat)
    this.#takers.delete(seat)
    this.#endedMs.set(seat, nowMs)
    return taker
  }

  sits(operation: Operation): boolean {
    return [...this.#takers.values()].includes(operation)
  }

  /** Its seat had expired, and another took it. */
  wasDisplaced(operation: Operation): boolean {
    return this.#displaced.has(operation)
  }

  /** Whether this seat was taken at some moment since then. */
  wasTakenSince(seat: string, sinceMs: number): boolean {
    const untilMs = this.#takers.has(seat) ? this.#untilMs.get(seat) : this.#endedMs.get(seat)
    return untilMs !== undefined && untilMs >= sinceMs
  }
}

/** A seat outlives the wait it is for by so long. */
export const LATER_MS = 5_000
const APART_MS = 1_000

export function noteSeats(model: Model, { pk, sk, newItem }: Change): void {
  if (pk !== seatsKey.pk || sk !== seatsKey.sk) return
  const { operation, world, seats } = model
  const { nowMs } = world.scheduler
  const command = operation?.command
  const waitSeconds = command?.verb === 'pop' ? command.request.waitSeconds : undefined
  if (operation === undefined || waitSeconds === undefined || newItem === undefined) {
    model.violated('only pops that wait have seats', pk)
    return
  }
  const before = model.rows.row(pk, sk) ?? {}
  for (const [seat, value] of Object.entries(newItem)) {
    const [was, is] = [Number(before[seat] ?? 0), Number(value)]
    if (seat === 'pk' || seat === 'sk' || was === is) continue
    if (!(Number(seat.slice(1)) < (world.waitingPopsMax ?? 0))) {
      model.violated('there are no more seats than were set', seat)
    }
    if (is === 0) {
      world.statistics.count('path seat left')
      const taker = seats.leave(seat, nowMs)
      if (taker !== operation) {
        model.violated('nobody gives away the seat of another', `${seat} of #${taker?.id}`)
      }
      continue
    }
    world.statistics.count(was === 0 ? 'path seat taken' : 'path seat taken after it expired')
    if (was > nowMs + world.skewMaxMs) {
      model.violated('nobody is driven off a seat', `${seat} was taken until ${was}`)
    }
    if (is > nowMs + world.skewMaxMs + waitSeconds * 1_000 + LATER_MS + APART_MS) {
      model.violated('every seat expires', `${seat} is taken until ${is}`)
    }
    operation.effects.seatsTaken += 1
    seats.take(seat, operation, is)
  }
}
