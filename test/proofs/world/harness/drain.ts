import { schedulesPartition } from '../../../../lambdas/engine/core/keys.ts'
import { FORGET_AFTER_MS } from '../../../../lambdas/engine/core/limits.ts'
import { unsettledIn } from '../../../../lambdas/engine/core/record.ts'
import type { HousekeepReport, PopOutcome, SweepReport } from '../../../../lambdas/engine/queues.ts'
import type { Command } from '../actors/callers/command.ts'
import type { Outcome } from '../actors/callers/operation.ts'
import type { Model, QueueModel } from '../checkers/model.ts'
import type { Driver } from './driver.ts'

export type Call = (command: Command) => Promise<Outcome | undefined>

/** Where a queue has room for one, each item that expires takes a round. */
const ROUNDS_MAX = 60
const POPS_MAX = 120

/** Empties every queue in a world without faults, and lets the engine forget the empty ones. */
export async function drain(model: Model, call: Call, driver: Driver): Promise<void> {
  await driver.advance(320_000)
  for (let round = 1; ; round += 1) {
    await sweep(model, call)
    for (const queueModel of [...model.queues()]) await drainQueue(model, queueModel, call, driver)
    if (model.world.violation !== undefined) return
    if ([...model.queues()].every((one) => isDrained(one) && !isRefused(model, one))) break
    if (round === ROUNDS_MAX) {
      const left = [...model.queues()].filter((one) => !isDrained(one)).map(({ queue }) => queue)
      model.world.violated('with faults off every queue drains', left.join())
      return
    }
    await driver.advance(5_000)
  }
  for (let round = 0; round < 3; round += 1) {
    await driver.advance(FORGET_AFTER_MS + 15_000)
    await sweep(model, call)
    if ([...model.queues()].every(isForgotten)) return
    await driver.advance(2_000)
  }
  for (const queueModel of model.queues()) {
    if (isForgotten(queueModel)) continue
    model.world.violated('what is empty and not configured is forgotten', queueModel.queue)
  }
}

export async function sweep(model: Model, call: Call): Promise<void> {
  for (let run = 0; run < 20; run += 1) {
    const outcome = await call({ verb: 'returnExpiredLocks', queue: '' })
    if (outcome?.kind !== 'success') return refused(model, 'returnExpiredLocks', outcome)
    const report = outcome.value as SweepReport
    for (const { queue, error } of report.failed.slice(0, 1)) {
      model.world.violated('with faults off the sweeper succeeds', `${queue}: ${error}`)
    }
    if (!report.more) return
  }
  model.world.violated('the sweeper comes to an end', 'there is always more')
}

async function drainQueue(
  model: Model,
  queueModel: QueueModel,
  call: Call,
  driver: Driver,
): Promise<void> {
  const { queue } = queueModel
  for (let run = 0; ; run += 1) {
    const outcome = await call({ verb: 'housekeep', queue })
    if (outcome?.kind !== 'success') return refused(model, 'housekeep', outcome)
    const { finished } = outcome.value as HousekeepReport
    if (finished) break
    if (run === 20) return model.world.violated('housekeeping comes to an end', queue)
  }
  let acknowledge: string | undefined
  for (let pops = 0; pops < POPS_MAX; pops += 1) {
    const request = { count: 100, requireAck: true, competing: true, ttlSeconds: 300 }
    const combined = acknowledge === undefined ? {} : { acknowledge }
    const outcome = await call({ verb: 'pop', queue, request: { ...request, ...combined } })
    if (outcome?.kind === 'refused' && outcome.error.code === 'RATE_LIMITED') {
      await driver.advance((outcome.error.retryAfterMs ?? 0) + 1)
      continue
    }
    // Expired items that become dead letters wait until those before them have moved: the housekeeper is at it.
    if (outcome?.kind === 'refused' && outcome.error.code === 'TOO_MANY_LOCKS') {
      await driver.advance(1_000)
      continue
    }
    if (outcome?.kind !== 'success') return refused(model, 'pop', outcome)
    const popped = outcome.value as PopOutcome
    if (popped.kind !== 'items') return
    acknowledge = popped.lock?.id
  }
  // Or it would take up the room of what is due.
  if (acknowledge !== undefined)
    await call({ verb: 'acknowledge', queue, request: { lockId: acknowledge } })
}

function refused(model: Model, verb: string, outcome: Outcome | undefined): void {
  const why = outcome !== undefined && 'error' in outcome ? String(outcome.error) : outcome?.kind
  model.world.violated('with faults off every operation succeeds', `${verb}: ${why}`)
}

function isDrained({ current }: QueueModel): boolean {
  if (current === undefined) return true
  const { record } = current
  if (record.scheduled.items > 0) return false
  return [...record.lanes.values()].every((lane) => unsettledIn(lane).length === 0)
}

/** A schedule found no room for an occurrence, and tries again. */
const isRefused = ({ rows }: Model, { queue }: QueueModel): boolean =>
  [...(rows.partition(schedulesPartition(queue))?.values() ?? [])].some(
    ({ retry }) => retry !== undefined,
  )

const isForgotten = ({ current }: QueueModel): boolean =>
  current === undefined ||
  current.record.configuration.revision > 0 ||
  // What came by way of the inbox may come again for 14 days.
  current.record.sequence !== undefined
