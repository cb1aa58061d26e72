// Six processes, each with its own engine, on the same queues at the same time. Every history has
// to have an order that one queue used by one caller could have answered (queue-model.ts). Where
// locks expire there is none, and the rules in test/support/deliveries.ts have to hold.
//
// PUSHPOP_SEED replays the plans of a run (not the order in which the machine runs them),
// PUSHPOP_HISTORIES makes it longer.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startQueues, type TestQueues } from '../../../testing/index.ts'
import { findFaults } from '../../support/deliveries.ts'
import { checkHistory } from './checker.ts'
import { explain } from './explain.ts'
import {
  type Coordinator,
  createCoordinator,
  type History,
  type HistoryPlan,
  planHistory,
  planShortLocks,
  startWorkers,
  type Workers,
} from './histories.ts'
import { precedenceOf } from './precedence.ts'
import { queueModel } from './queue-model.ts'
import type { RecordedCall } from './recorder.ts'
import { toDeliveries } from './to-deliveries.ts'

const seed = Number(process.env.PUSHPOP_SEED ?? Math.floor(Math.random() * 1e6))
const historyCount = Number(process.env.PUSHPOP_HISTORIES ?? 20)
const shortCount = Math.ceil(historyCount / 6)
const engine =
  process.env.PUSHPOP_ENGINE ?? new URL('../../../engine/queues.ts', import.meta.url).href

const WORKERS = 6
/** As many as two cores keep busy while each history still has all of its workers in it. */
const AT_ONCE = 4
const SHORT_AT_ONCE = 20
/** Several times what they take on a busy machine. */
const TIMEOUT_MS = Math.max(300_000, historyCount * 2_000)
const STEPS_TO_EXPLAIN = 100_000
/** Enough to see what is wrong. */
const PROBLEMS_MAX = 10

let embedded: TestQueues
let setting: Parameters<typeof startWorkers>[1]
/** Of both tests: the second starts with code that is compiled, but with clients and engines of its own. */
let workers: Workers
const stopLast: (() => unknown)[] = []

async function prepare(clockSkewMs: (worker: number) => number) {
  const coordinator: Coordinator = await createCoordinator(setting, workers, clockSkewMs)
  stopLast.unshift(coordinator.stop)
  return coordinator
}

beforeAll(async () => {
  embedded = await startQueues()
  stopLast.push(embedded.stop)
  const { dynamodbEndpoint, s3Endpoint, credentials, tableName, bucketName } = embedded
  setting = { dynamodbEndpoint, s3Endpoint, credentials, tableName, bucketName, engine }
  workers = await startWorkers(WORKERS, setting)
  stopLast.unshift(workers.stop)
})

afterAll(async () => {
  for (const stop of stopLast) await stop()
})

describe(`histories of ${WORKERS} processes, seed ${seed}`, () => {
  test('are linearisable, queue by queue', { timeout: TIMEOUT_MS }, async () => {
    const coordinator = await prepare((worker) => (worker - 2) * 1000)
    const startedMs = performance.now()
    const plans = Array.from({ length: historyCount }, (_, index) => planHistory(index, seed))
    const steps: number[] = []
    const { histories, problems } = await runAll(coordinator, plans, AT_ONCE, (history) => {
      // After a fault anything may happen, so a search for an order would be wasted.
      if (history.faults.length > 0) return history.faults
      const verdict = judge(history)
      steps.push(verdict.steps)
      return verdict.kind === 'linearisable' ? [] : [explain(history, verdict)]
    })
    report('linearisable', histories, startedMs, `hardest ${Math.max(...steps)} steps`)
    expect(problems).toEqual([])
  })

  test('keep every item and its place while locks expire', { timeout: TIMEOUT_MS }, async () => {
    const coordinator = await prepare(() => 0)
    const startedMs = performance.now()
    const plans = Array.from({ length: shortCount }, (_, index) => planShortLocks(index, seed))
    let redelivered = 0
    const { histories, problems } = await runAll(coordinator, plans, SHORT_AT_ONCE, (history) => {
      const exclusive = history.plan.style.popping === 'exclusive'
      const deliveries = toDeliveries(history.calls, exclusive)
      redelivered += deliveries.pops
        .flatMap(({ items }) => items)
        .filter((item) => item.deliveries > 1).length
      const found = findFaults(deliveries)
      return [
        ...history.faults,
        ...found.map(({ kind, text }) => `${history.plan.queue}: ${kind}: ${text}`),
      ]
    })
    report('with expiring locks', histories, startedMs, `${redelivered} deliveries after a return`)
    expect(problems).toEqual([])
  })
})

function judge({ plan, calls: recorded }: History) {
  const calls = withSurvivors(recorded)
  const model = queueModel(plan.configuration)
  const verdict = checkHistory(model, calls, { precedence: precedenceOf(calls) })
  if (verdict.kind === 'linearisable') return verdict
  // Without precedence the search takes long, but shows better where it ends.
  const plain = checkHistory(model, calls, { stepsMax: STEPS_TO_EXPLAIN })
  return plain.kind === 'undecided' ? verdict : plain
}

/** Items that a purge may have missed: only the times of the calls show which. */
function withSurvivors(calls: readonly RecordedCall[]): readonly RecordedCall[] {
  return calls.map((call) => {
    if (call.operation.kind !== 'purge') return call
    const survivors = new Set<string>()
    for (const { operation, answer, returnedAt } of calls) {
      if (operation.kind !== 'push') continue
      if (answer !== undefined && returnedAt < call.calledAt) continue
      for (const { name } of operation.items) survivors.add(name)
    }
    return { ...call, operation: { ...call.operation, survivors } }
  })
}

async function runAll(
  coordinator: Coordinator,
  plans: readonly HistoryPlan[],
  atOnce: number,
  check: (history: History) => readonly string[],
): Promise<{ readonly histories: readonly History[]; readonly problems: readonly string[] }> {
  const histories: History[] = []
  const problems: string[] = []
  const left = plans.values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const plan of left) {
        if (problems.length >= PROBLEMS_MAX) return
        const history = await coordinator.run(plan)
        problems.push(...check(history))
        histories.push(history)
      }
    }),
  )
  return { histories, problems }
}

function report(what: string, histories: readonly History[], startedMs: number, more: string) {
  const calls = histories.flatMap((history) => history.calls)
  const unknown = calls.filter(({ answer }) => answer === undefined).length
  const injected = histories.reduce((sum, history) => sum + history.injected, 0)
  const behind = histories.reduce((sum, history) => sum + history.backgroundFailed, 0)
  const failures: Record<string, number> = {}
  for (const history of histories) {
    for (const [code, n] of Object.entries(history.failures)) {
      failures[code] = (failures[code] ?? 0) + n
    }
  }
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  console.log(
    `${histories.length} histories ${what}: ${calls.length} operations by ${WORKERS} processes, ` +
      `${injected} requests lost or late, ${unknown} outcomes unknown, ` +
      `failed without effect ${JSON.stringify(failures)}, ${behind} background steps to be repeated; ` +
      `${more}; seed ${seed}, ${seconds} s`,
  )
}
