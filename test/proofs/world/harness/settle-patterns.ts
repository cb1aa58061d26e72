import { patternsWalkKey } from '../../../../engine/core/keys.ts'
import type { QueuePatternInput } from '../../../../engine/queues.ts'
import { decodePatternsWalk } from '../../../../engine/upkeep/apply-patterns.ts'
import type { Random } from '../../../../testing/random.ts'
import { drawPatterns, type Profile } from '../actors/callers/profile.ts'
import { checkPatternsApplied } from '../checkers/check-configuration.ts'
import type { Model } from '../checkers/model.ts'
import type { Built } from './build-world.ts'
import { type Ending, succeed, sweep } from './drain.ts'
import { SKEW_MAX_MS } from './mortal.ts'

type Settling = Ending & {
  readonly newWriter: Built['newWriter']
  readonly profile: Profile
  readonly random: Random
}

const MINUTE_MS = 60_000
/** 0 s (walks that wait), 15 min, 1, 4, 16 hours and a day. */
const WALKS_AFTER_EMPTYING = 6

/**
 * Once nothing is under way, the next walk that begins puts every queue right, whatever was frozen, late or
 * lost before. From then on nothing fails: each change must have reached every queue after the one walk that
 * follows it, and the walks must end once the patterns are gone.
 */
export async function settlePatterns(settling: Settling): Promise<void> {
  const { model, driver, profile, random } = settling
  // One that is under way may have passed a queue whose request was lost.
  if (walkOf(model).underWay !== undefined) await sweep(settling)
  await nextWalk(settling)
  checkPatternsApplied(model)
  await change(settling, drawPatterns(profile, random), 'a')
  // In quick succession: none may keep the walk from coming.
  for (let storm = 0; storm < random.between(2, 5); storm += 1) {
    await put(settling, drawPatterns(profile, random))
    await driver.advance(random.between(5, 40) * 1_000)
    await sweep(settling)
  }
  await change(settling, drawPatterns(profile, random), 'b')
  await change(settling, [], 'c')
  for (let walk = 0; walk < WALKS_AFTER_EMPTYING; walk += 1) await nextWalk(settling)
  checkPatternsApplied(model)
  if (walkOf(model).beginMs !== undefined) {
    model.violated('walks end once the patterns are gone', JSON.stringify(walkOf(model)))
  }
}

/** A change, while another process makes queues by what it knows: right within two sweeps, a minute apart. */
async function change(settling: Settling, patterns: QueuePatternInput[], name: string) {
  const { model, driver, newWriter, random } = settling
  const other = newWriter(`other-${name}`)
  const makeQueue = async (number: number): Promise<void> => {
    const queue = `q0.${random.between(100, 999)}${name}${number}`
    const items = [{ text: JSON.stringify(queue) }]
    await driver.call(other, { verb: 'push', queue, request: { items } })
  }
  await makeQueue(1)
  await put(settling, patterns)
  await sweep(settling)
  await driver.advance(18_000)
  await makeQueue(2)
  await driver.advance(MINUTE_MS)
  await sweep(settling)
  // Long after the change, and behind the walk.
  await makeQueue(3)
  const { asked, noted, walks } = walkOf(model)
  if (asked !== noted || walks === 0) {
    model.violated('a change is applied within two minutes', JSON.stringify(walkOf(model)))
  }
  checkPatternsApplied(model)
}

const put = (settling: Settling, patterns: QueuePatternInput[]) =>
  succeed(settling, { verb: 'configurePatterns', queue: '', patterns, request: {} })

const walkOf = (model: Model) =>
  decodePatternsWalk(model.rows.row(patternsWalkKey.pk, patternsWalkKey.sk))

/** Goes on to the next walk's time, and has it done. */
async function nextWalk(settling: Settling): Promise<void> {
  const { model, driver } = settling
  // The world's own sweeper may begin it at any time; ours goes on with it, or begins it.
  for (let sweeps = 0; sweeps < 3; sweeps += 1) {
    const { asked, noted, underWay } = walkOf(model)
    if (asked === noted && underWay === undefined) break
    await sweep(settling)
  }
  const { beginMs } = walkOf(model)
  if (beginMs === undefined) {
    if (model.patterns.at(-1)?.length === 0) return
    model.violated('patterns have a walk to come', JSON.stringify(walkOf(model)))
    return
  }
  const untilMs = Math.max(0, beginMs - model.world.scheduler.nowMs)
  await driver.advance(untilMs + 2 * SKEW_MAX_MS)
  await sweep(settling)
}
