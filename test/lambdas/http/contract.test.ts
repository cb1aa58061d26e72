import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allChecks } from '../../../cli/commands/verify.ts'
import { play } from '../../../cli/verify/play.ts'
import { errorTable } from '../../../lambdas/http/answer.ts'
import type { Call, CaseTools } from './call.ts'
import { type Case, runCase } from './cases/actions.ts'
import { contractCases } from './contract-cases.ts'
import { documented } from './documented.ts'
import { fetchBy } from './handler-call.ts'
import { hostileCases } from './hostile/hostile-cases.ts'
import { embeddedService, type Service } from './service.ts'

let service: Service
let tools: CaseTools
const seen = new Set<string>()
beforeAll(async () => {
  service = await embeddedService()
  tools = { ...service, call: documented(service.call, seen) }
})
afterAll(() => service.close())

const runs = new Map<Case, Promise<void>>()
function runOnce(one: Case): Promise<void> {
  const run = runs.get(one) ?? runCase(one, tools)
  runs.set(one, run)
  return run
}

// The rest says what these leave open: spelling, headers, bounds. They are played over HTTP in
// test/cli/verify, where there is a schedule to wait for as well.
describe('The sentences by which `pushpop verify` judges a deployed service', () => {
  const url = 'http://handlers.invalid'
  /** The stream's part: what a lock gave back may have to move on. */
  const housekept: Call = async (method, path, options) => {
    const answer = await tools.call(method, path, options)
    const [, queue] = /^\/queue\/([^/]+)\/release$/.exec(path) ?? []
    if (queue !== undefined) await service.queues.housekeep(queue)
    return answer
  }
  const audience = { onOpen() {}, onStep() {}, async onEnd() {} }
  /** No caller of the handlers sees these. */
  const unseen = ['authorisation', 'events']

  it.concurrent.each(
    allChecks
      .filter(({ name, waits }) => !waits && !unseen.includes(name))
      .map((check) => [check.name, check] as const),
  )('hold: %s.', async (_, check) => {
    const interrupt = new AbortController().signal
    const settings = { url, auth: { kind: 'none' }, atOnce: 6, interrupt } as const
    const { results } = await play([check], { ...settings, fetch: fetchBy(housekept) }, audience)
    const verdicts = results
      .flatMap(({ steps }) => steps)
      .map(({ name, verdict }) => ({ name, ...verdict }))
    expect(verdicts.filter(({ kind }) => kind !== 'holds')).toEqual([])
  })
})

describe.each(Object.entries(contractCases))('%s', (_, cases) => {
  it.concurrent.each(Object.entries(cases))('%s.', (_, one) => runOnce(one))
})

describe('All cases together', () => {
  // Alone, these tests run all of them.
  beforeAll(async () => {
    for (const cases of Object.values(contractCases)) {
      for (const one of Object.values(cases)) await runOnce(one).catch(() => {})
    }
  })

  /** Gone wrong inside, or refused by what is not here yet or not here: other tests bring them about. */
  const elsewhere = [
    'INTERNAL',
    'FORMAT_UNKNOWN',
    'BUSY',
    'STORE_UNAVAILABLE',
    'SEGMENT_UNAVAILABLE',
  ]

  it('bring about every error code that a caller can bring about.', () => {
    // Hostile requests, in their own test, bring about what is wrong with a request.
    const codes = new Set([...seen].map((one) => one.split(' ')[1]))
    for (const { code } of hostileCases) codes.add(code)
    const missing = Object.keys(errorTable).filter((code) => !codes.has(code))
    expect(missing.sort()).toEqual(elsewhere.sort())
  })

  it('log one line a request, with what the local console prints.', () => {
    expect(service.lines.length).toBeGreaterThan(1_000)
    for (const line of service.lines) {
      const { message, status, duration_ms } = JSON.parse(line)
      if (message !== 'request') continue
      expect(status).toBeGreaterThanOrEqual(200)
      expect(duration_ms).toBeGreaterThanOrEqual(0)
    }
  })
})
