import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { operations } from '../../../scripts/openapi.ts'
import type { CallOptions } from './call.ts'
import { checkAnswer, type Seen } from './documented.ts'
import { anyRequest, CANARY, SOME_LOCK, SOME_TICKET } from './hostile/any-request.ts'
import { simulatedService } from './service.ts'

/** A sample; `npm run nightly` makes many more. */
const RUNS = Number(process.env.PUSHPOP_GENERATED ?? 10_000)

describe('Generated requests', () => {
  it('never get a 5xx, and always an answer of a documented shape.', async () => {
    const service = simulatedService()
    const seen: Seen = new Set()
    let good = 0
    const locks = new Map<string, string>()
    const tickets = new Map<string, string>()
    const check = fc.asyncProperty(anyRequest, async ({ method, path: wanted, options }) => {
      const queue = wanted.split('/')[2] ?? ''
      const path = wanted.replace(SOME_TICKET, tickets.get(queue) ?? SOME_TICKET)
      const answer = await service.call(method, path, withLock(options, locks.get(queue)))
      const lockId = /"locked":true,"lock_id":"(.{11})"/.exec(answer.text)?.[1]
      if (lockId !== undefined) locks.set(queue, lockId)
      const ticket = /"ticket":"([^"]+)"/.exec(answer.text)?.[1]
      if (ticket !== undefined) tickets.set(queue, ticket)
      checkAnswer(method, path, answer, seen)
      assert.ok(answer.status < 500, answer.text)
      // An item that was pushed may be told by a pop; an error repeats nothing.
      if (answer.status !== 200) assert.ok(!answer.text.includes(`"${CANARY}"`), answer.text)
      else good += 1
    })
    await fc.assert(check, { numRuns: RUNS, endOnFailure: true })
    // As many as are wrong are right: else the generator would be testing its first check only.
    expect(good).toBeGreaterThan(RUNS / 10)
    const neverGood = Object.keys(operations).filter((name) => !seen.has(`${name} 200`))
    expect(neverGood).toEqual([])
    expect(seen.size).toBeGreaterThan(60)
    expect(service.lines.filter((line) => line.includes('"request failed"'))).toEqual([])
  }, 1_800_000)
})

function withLock(options: CallOptions, lockId = SOME_LOCK): CallOptions {
  const { body, query } = options
  return {
    ...options,
    ...(query !== undefined && { query: query.replace(SOME_LOCK, lockId) }),
    ...(typeof body === 'string' && { body: body.replace(SOME_LOCK, lockId) }),
  }
}
