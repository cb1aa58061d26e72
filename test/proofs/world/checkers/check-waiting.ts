import { seatsKey } from '../../../../engine/core/keys.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { CommandOf } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import { hasAcknowledgedAndWaited, mayBeLimited } from './check-popped.ts'
import type { Answer, Asked, Model } from './model.ts'

/** Looks come every 0.4 s at most; the rest is for races that a pop loses, and for its way there. */
const NOTICED_WITHIN_MS = 5_000
/** A process that found no seat asks for none for so long. */
const ALL_TAKEN_FOR_MS = 2_000

const isWaiter = (operation: Operation): operation is Operation<CommandOf<'pop'>> =>
  operation.command.verb === 'pop' && operation.command.request.waitSeconds !== undefined

/** After each pause: whoever waits has a seat, and does not pass over what has come. */
export function checkWaiter(model: Model, operation: Operation): void {
  const { seats, world } = model
  if (!isWaiter(operation)) return
  const who = `#${operation.id}`
  const sits = seats.sits(operation) || seats.wasDisplaced(operation)
  if (world.waitingPopsMax !== undefined && !sits) {
    world.violated('who waits has a seat', `${who} has none`)
  }
  if (!world.faultFree) return
  const { queue, request } = operation.command
  const { freeSinceCommit, freeSinceMs } = model.queue(queue)
  const sinceMs = Math.max(freeSinceMs, operation.startedMs)
  const { nowMs } = world.scheduler
  if (freeSinceCommit === undefined || !request.competing) return
  if (nowMs - sinceMs < NOTICED_WITHIN_MS) return
  world.violated('who waits gets what comes', `${who} has passed over items since ${sinceMs}`)
}

/** How long it waited; that the answer is true at its end is for the rules of all pops. */
export function checkWaited(answer: Answer<'pop'>): void {
  const { model, operation, command, value: outcome, say } = answer
  const { startedMs } = operation
  const { waitSeconds, acknowledge } = command.request
  const { waitedMs, kind } = outcome
  const { world } = model
  if (waitSeconds === undefined) {
    if (waitedMs !== undefined) say('only who asks for it waits', `${waitedMs} ms`)
    return
  }
  const tookMs = world.scheduler.nowMs - startedMs
  const count = (path: string): void => world.statistics.count(`path ${path}`)
  if (waitedMs === undefined) {
    const mayBeAtOnce = kind === 'items' || (kind === 'locked' && acknowledge !== undefined)
    if (!mayBeAtOnce) say('who is to wait waits', kind)
    return
  }
  if (waitedMs === 0) {
    count('all seats taken')
    checkAllTaken(model, operation, say)
    return
  }
  count(`waited, then ${kind}`)
  if (hasAcknowledgedAndWaited(outcome)) count('acknowledged, then waited in vain')
  const { cancelAfterMs = Number.POSITIVE_INFINITY } = command
  const isCancelled = cancelAfterMs <= tookMs
  if (isCancelled) count('wait cancelled')
  // A clock that is set anew while it runs may end the wait early; and clocks show whole milliseconds.
  const lengthMs = waitSeconds * 1_000
  const isRefused = hasAcknowledgedAndWaited(outcome) && mayBeLimited(answer)
  const isShort = tookMs < lengthMs - 2 * world.skewMaxMs - 1
  if (kind !== 'items' && !isCancelled && !isRefused && isShort) {
    say('who waits in vain waits to the end', `${tookMs} of ${lengthMs} ms`)
  }
  const mostMs = Math.min(cancelAfterMs, lengthMs + 2 * world.skewMaxMs) + NOTICED_WITHIN_MS
  if (world.faultFree && tookMs > mostMs) {
    say('nobody waits longer than asked', `${tookMs} of ${lengthMs} ms`)
  }
}

/** Each was taken at some moment while it looked, or while its process did not ask. */
function checkAllTaken({ seats, world }: Model, { startedMs }: Operation, say: Asked['say']): void {
  const { waitingPopsMax: seatsMax, skewMaxMs, faultFree } = world
  if (seatsMax === undefined) say('without a bound there is a seat for all', '')
  // A lost answer, or the memory of a process whose clock was set back.
  if (!faultFree) return
  const sinceMs = startedMs - ALL_TAKEN_FOR_MS - NOTICED_WITHIN_MS - 2 * skewMaxMs
  for (let n = 0; n < (seatsMax ?? 0); n += 1) {
    if (!seats.wasTakenSince(`s${n}`, sinceMs)) say('who finds a free seat waits', `s${n} was free`)
  }
}

/** Where nothing is lost it has left its seat; otherwise that expires. */
export function checkSeatLeft({ model, operation, say }: Asked): void {
  const { seats, world } = model
  if (!isWaiter(operation) || !seats.sits(operation)) return
  world.statistics.count('path seat not left')
  // If its clock was set far ahead meanwhile, the seat has expired to it.
  if (world.faultFree && 2 * world.skewMaxMs < LATER_MS) say('who has waited leaves its seat', '')
}

/** Who sits where, while pops wait. */
export class Seats {
  /** Of each seat: who has it, and until when it is occupied, or was. */
  readonly #seats = new Map<string, { readonly taker: Operation | undefined; untilMs: number }>()
  readonly #displaced = new WeakSet<Operation>()

  take(seat: string, taker: Operation, untilMs: number): void {
    const before = this.#seats.get(seat)?.taker
    if (before !== undefined) this.#displaced.add(before)
    this.#seats.set(seat, { taker, untilMs })
  }

  leave(seat: string, nowMs: number): Operation | undefined {
    const before = this.#seats.get(seat)?.taker
    this.#seats.set(seat, { taker: undefined, untilMs: nowMs })
    return before
  }

  sits(operation: Operation): boolean {
    return [...this.#seats.values()].some(({ taker }) => taker === operation)
  }

  /** Its seat had expired, and another took it. */
  wasDisplaced(operation: Operation): boolean {
    return this.#displaced.has(operation)
  }

  wasTakenSince(seat: string, sinceMs: number): boolean {
    return (this.#seats.get(seat)?.untilMs ?? Number.NEGATIVE_INFINITY) >= sinceMs
  }
}

/** A seat outlives the wait it is for by so long. */
const LATER_MS = 5_000
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
    seats.take(seat, operation, is)
  }
}
