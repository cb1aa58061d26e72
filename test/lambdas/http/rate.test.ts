// The handler of rate limits on the embedded store: what the cases of this folder, which need nothing
// but a way to make a request, cannot see. cases/rates.ts has the rest.

import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DocumentPort } from '../../../aws/dynamo.ts'
import { type RateEndpointsOptions, rateEndpoints } from '../../../lambdas/http/rate.ts'
import { httpHandler } from '../../../lambdas/http/stack.ts'
import { createLog } from '../../../lambdas/runtime/log.ts'
import { createRateLimitsOn } from '../../../lambdas/runtime/rate-services.ts'
import { startQueues, type TestQueues } from '../../../testing/index.ts'
import { ManualClock } from '../../engine/manual-clock.ts'
import { anEvent } from './an-event.ts'

let embedded: TestQueues
beforeAll(async () => {
  embedded = await startQueues()
})
afterAll(() => embedded.stop())

type Asked = {
  readonly method?: string
  readonly more?: string
  readonly query?: string
  readonly body?: string
  readonly ticket?: string
  /** By the gateway's clock. */
  readonly receivedMs?: number
}

/** A process of its own: what it remembers, and a clock of its own. */
function process(clock = new ManualClock(), options: RateEndpointsOptions = {}) {
  const lines: string[] = []
  const log = createLog({ level: 'info', service: 'x', write: (line) => lines.push(line) })
  const documents = DynamoDBDocumentClient.from(embedded.dynamodb) as unknown as DocumentPort
  const limits = createRateLimitsOn({ PUSHPOP_TABLE: embedded.tableName }, documents, clock)
  const handler = httpHandler(
    'Rate',
    log,
    rateEndpoints(limits, { nowMs: () => clock.nowMs(), ...options }),
  )
  return {
    clock,
    log: () => lines.map((line) => JSON.parse(line)),
    async ask(key: string, asked: Asked = {}) {
      const { method = 'POST', more = '', query = '', body, ticket, receivedMs } = asked
      const parameters = { key, ...(ticket !== undefined && { ticket }) }
      const event = anEvent(`${method} /rate/{key}${more}`, parameters, {
        rawQueryString: query,
        requestContext: { requestId: 'gateway-id', timeEpoch: receivedMs },
        body,
      })
      const answer = await handler(event, {})
      const { statusCode: status, headers } = answer
      return { status, headers, body: JSON.parse(answer.body), text: answer.body }
    },
  }
}

const wait = 'canWait=true&maxRequests=1&windowMillis=10000'

describe('A call that may wait', () => {
  it('is held for as long as it said, to the millisecond, and not longer.', async () => {
    const { ask, clock } = process(new ManualClock(), { holdMsMax: 20_000 })
    expect((await ask('held', { query: wait })).body.waited_ms).toBe(0)
    const windowMs = 10_000
    const leftMs = windowMs - (clock.nowMs() % windowMs)
    const short = await ask('held', { query: `${wait}&maxWaitMs=${leftMs - 1}` })
    expect([short.status, short.body.retry_after_ms]).toEqual([202, leftMs])
    expect(short.headers['retry-after']).toBe(String(Math.ceil(leftMs / 1_000)))
    const held = await ask('held', { query: `${wait}&maxWaitMs=20000` })
    expect(held.status).toBe(200)
    expect(held.body.waited_ms).toBe(leftMs + windowMs)
    expect(held.body.window.start * 1_000).toBe(clock.nowMs())
  })

  it('is not held for longer than the service is set to, 2 s unless it is, whatever it says.', async () => {
    for (const [options, heldMsMax] of [
      [{}, 2_000],
      [{ holdMsMax: 5_000 }, 5_000],
      [{ holdMsMax: 0 }, 0],
    ] as const) {
      for (const query of [wait, `${wait}&maxWaitMs=20000`]) {
        const { ask, clock } = process(new ManualClock(), options)
        const key = `bounded-${heldMsMax}-${query.length}`
        await ask(key, { query })
        clock.pass(10_000 - (clock.nowMs() % 10_000) - heldMsMax - 1)
        const { status, body } = await ask(key, { query })
        expect([status, body.retry_after_ms]).toEqual([202, heldMsMax + 1])
      }
    }
  })
})

describe('A ticket', () => {
  it('is good for every process, through all that becomes of it.', async () => {
    const clock = new ManualClock()
    const [maker, other] = [process(clock), process(clock)]
    await maker.ask('ticket', { query: wait })
    const made = await maker.ask('ticket', { query: `${wait}&maxWaitMs=0` })
    const { ticket, not_before, retry_after_ms } = made.body
    const look = { method: 'GET', more: '/tickets/{ticket}', ticket }
    const giveUp = { ...look, method: 'DELETE' }
    const waiting = await other.ask('ticket', look)
    expect(waiting.body).toEqual({
      state: 'waiting',
      not_before,
      good_until: not_before + 10,
      retry_after_ms,
    })
    clock.pass(retry_after_ms)
    expect((await other.ask('ticket', look)).body.state).toBe('ready')
    expect((await other.ask('ticket', giveUp)).body).toEqual({
      given_up: false,
      reason: 'too_late',
    })
    clock.pass(10_000)
    expect((await other.ask('ticket', look)).body.state).toBe('over')
    expect((await other.ask('another', look)).status).toBe(404)
  })

  it('is looked at without a read, once the process has the secret.', async () => {
    const { ask, log } = process()
    await ask('free', { query: wait })
    const { body } = await ask('free', { query: `${wait}&maxWaitMs=0` })
    await ask('free', { method: 'GET', more: '/tickets/{ticket}', ticket: body.ticket })
    expect(log().at(-1)).toMatchObject({ status: 200, dynamodb_requests: 0, key: 'free' })
  })

  it('is in no log.', async () => {
    const { ask, log } = process()
    await ask('quiet', { query: wait })
    const { ticket } = (await ask('quiet', { query: `${wait}&maxWaitMs=0` })).body
    await ask('quiet', { method: 'GET', more: '/tickets/{ticket}', ticket })
    await ask('quiet', { method: 'DELETE', more: '/tickets/{ticket}', ticket })
    expect(JSON.stringify(log())).not.toContain(ticket.slice(0, 20))
  })
})

describe('A decision', () => {
  it('is one write, and a denial none while the process remembers.', async () => {
    const { ask, log } = process()
    const query = 'maxRequests=2&windowMillis=60000'
    await ask('cheap', { query })
    await ask('cheap', { query })
    expect(log().at(-1)).toMatchObject({ dynamodb_requests: 1, write_units: 1, read_units: 0 })
    const denied = await ask('cheap', { query })
    expect([denied.status, denied.body.error_code]).toEqual([429, 'RATE_LIMITED'])
    expect(log().at(-1)).toMatchObject({ status: 429, error_code: 'RATE_LIMITED' })
    await ask('cheap', { query })
    expect(log().at(-1)).toMatchObject({ status: 429, dynamodb_requests: 0 })
  })

  it('is refused to a clock that is far off the gateway’s.', async () => {
    const { ask, clock } = process()
    const nowMs = clock.nowMs()
    for (const [receivedMs, status] of [
      [nowMs, 200],
      [nowMs - 14_000, 200],
      [nowMs + 4_000, 200],
      [nowMs - 16_000, 503],
      [nowMs + 6_000, 503],
    ] as const) {
      expect((await ask('clock', { receivedMs })).status).toBe(status)
    }
    const { body, headers } = await ask('clock', { receivedMs: nowMs - 60_000 })
    expect(body).toMatchObject({ error_code: 'STORE_UNAVAILABLE', retryable: true })
    expect(headers['retry-after']).toBe('1')
  })

  it('tells a window of less than a second as one of a second, and its own times exactly.', async () => {
    const { ask } = process()
    const { headers, body } = await ask('short', { query: 'windowMillis=250&maxRequests=3' })
    expect(headers['ratelimit-policy']).toBe('"default";q=3;w=1')
    expect(headers.ratelimit).toBe('"default";r=2;t=1')
    expect(body.window.end - body.window.start).toBeCloseTo(0.25)
  })
})

describe('Times', () => {
  it('are printed with a fraction, as everywhere.', async () => {
    const { ask } = process()
    const { text } = await ask('times', { query: 'windowMillis=1000' })
    expect(text).toMatch(/"window":\{"start":\d+\.\d+,"end":\d+\.\d+\}/)
    const state = await ask('times', { method: 'GET' })
    expect(state.text).toMatch(/"last_turn":null/)
  })
})
