import type { Command } from '../world/actors/callers/command.ts'
import type { Operation } from '../world/actors/callers/operation.ts'
import type { Writer } from '../world/actors/callers/writer.ts'
import { checkEnd } from '../world/checkers/check-end.ts'
import { buildWorld } from '../world/harness/build-world.ts'
import { Driver, drain } from '../world/harness/drain.ts'
import type { Intervention, World } from '../world/harness/world.ts'
import { followers } from './followers.ts'
import { type Scenario, State, type Step } from './scenario.ts'

/** One request of the subject, and what happens at it. */
export type Point = { readonly request: number; readonly how: Intervention }

type PointResult = {
  readonly requests: number
  /** Those of them that change nothing, by their number. */
  readonly reads: ReadonlySet<number>
  readonly violation: World['violation']
  readonly history: readonly string[]
}

/** Runs a scenario, struck at one point or at none; then all other operations; then the drain. */
export async function runPoint(
  scenario: Scenario,
  point: Point | undefined,
  options: { readonly rotation?: number; readonly history?: boolean } = {},
): Promise<PointResult> {
  const { world, model, newWriter } = buildWorld({
    seed: 1,
    history: options.history ?? false,
    profile: { latencyMaxMs: 4, skewMaxMs: 0, clockJumps: 0, waiting: { seats: 1 } },
  })
  const driver = new Driver(world)
  const state = new State()
  const subject = newWriter('subject')
  const other = newWriter('other')
  const call = async (writer: Writer, step: Step): Promise<Operation | undefined> => {
    const operation = await driver.call(writer, step(state))
    if (operation !== undefined) state.learn(operation)
    return operation
  }

  for (const step of scenario.before) {
    const operation = await call(scenario.warm ? subject : other, step)
    if (operation !== undefined && operation.outcome?.kind !== 'success') {
      world.violated('a scenario is prepared', `${operation.command.verb} did not succeed`)
    }
  }
  if (scenario.waitMs > 0) await driver.advance(scenario.waitMs)

  const command = scenario.subject(state)
  let requests = 0
  const reads = new Set<number>()
  world.intervene = ({ name }, { operation }) => {
    if (operation?.command !== command) return undefined
    requests += 1
    if (/^(BatchGet|Get|Query)/.test(name)) reads.add(requests)
    return requests === point?.request ? point.how : undefined
  }
  const struck = await driver.call(subject, command)
  if (struck !== undefined) state.learn(struck)
  world.intervene = undefined

  for (const step of followers(options.rotation ?? 0, command)) {
    const operation = await call(requests % 2 === 0 ? subject : other, step)
    const error = operation?.outcome?.kind === 'refused' ? operation.outcome.error : undefined
    // A transaction's entry may be refused: its caller asks for a new one.
    const isTransaction = operation?.command.verb === 'pushTransactItem'
    if (error?.retryable && error.code !== 'QUEUE_FULL' && !isTransaction) {
      world.violated('what follows a crash succeeds', `${operation?.command.verb}: ${error}`)
    }
  }
  await driver.settle()
  const cold = async (step: Command) => (await driver.call(newWriter('drain'), step))?.outcome
  await drain({ model, driver, call: cold })
  if (world.violation === undefined) checkEnd(model)
  return {
    requests,
    reads,
    violation: world.violation,
    history: world.history.lines,
  }
}
