import { queuePatternsKey } from '../../../lambdas/engine/core/keys.ts'
import { decodeQueuePatterns } from '../../../lambdas/engine/store/queue-patterns-row.ts'
import { type Call, sweep } from './drain.ts'
import type { Driver } from './driver.ts'
import { checkPatternsApplied } from './model/check-configuration.ts'
import type { Model } from './model/model.ts'
import { SKEW_MAX_MS } from './skewed-clock.ts'

const MINUTE_MS = 60_000

/**
 * Once nothing is under way, the next walk that begins puts every queue right, whatever was frozen, late or lost before.
 * Where nothing ever fails, the walk that follows a change is enough.
 */
export async function settlePatterns(model: Model, call: Call, driver: Driver): Promise<void> {
  const { world } = model
  if (world.faultFree) {
    for (let minute = 0; minute < 2; minute += 1) {
      await driver.advance(MINUTE_MS)
      await sweep(model, call)
    }
    checkPatternsApplied(model)
  }
  // One that is under way may have passed a queue whose request was lost.
  if (rowOf(model).walk !== undefined) await walk(model, call, driver)
  await walk(model, call, driver)
  checkPatternsApplied(model)
}

const rowOf = (model: Model) =>
  decodeQueuePatterns(model.rows.row(queuePatternsKey.pk, queuePatternsKey.sk))

async function walk(model: Model, call: Call, driver: Driver): Promise<void> {
  const { walkAtMs } = rowOf(model)
  if (walkAtMs === undefined) {
    if (model.patterns.current.patterns.length === 0) return
    model.violated('patterns have a walk to come', String(model.patterns.current.revision))
    return
  }
  await driver.advance(Math.max(0, walkAtMs - model.world.scheduler.nowMs) + 2 * SKEW_MAX_MS)
  await sweep(model, call)
}
