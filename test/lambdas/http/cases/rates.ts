import { expect } from 'vitest'
import type { Call, HttpAnswer } from '../call.ts'
import { type Cases, expectError, expectOk, nowSeconds } from './actions.ts'

const at = (key: string, more = ''): string => `/rate/${key}${more}`
const decide = (call: Call, key: string, query = '') => call('POST', at(key), { query })

/** One a day: whatever comes after the first is denied or has to wait. */
const oneADay = 'maxRequests=1&windowMillis=86400000'

const configure = (call: Call, key: string, settings: unknown, ifMatch?: string) =>
  call('PUT', at(key, '/config'), {
    body: JSON.stringify(settings),
    ...(ifMatch !== undefined && { headers: { 'If-Match': ifMatch } }),
  })

async function ticketOf(call: Call, key: string) {
  const answer = await decide(call, key, `${oneADay}&canWait=true&maxWaitMs=0`)
  expect(answer.status, answer.text).toBe(202)
  return { answer, ...(JSON.parse(answer.text) as { ticket: string; position: number }) }
}

const defaults = {
  max_requests: 100,
  max_requests_in_queue: 400,
  window_millis: 1000,
  algorithm: 'window',
  burst: 1,
  shards: 1,
  allow_overrides: true,
}

function expectHeaders({ headers }: HttpAnswer, policy: string, remaining: number): void {
  expect(headers['ratelimit-policy']).toBe(`"default";${policy}`)
  expect(headers.ratelimit).toMatch(new RegExp(`^"default";r=${remaining};t=[1-9]\\d*$`))
}

export const rateCases: Cases = {
  'a request within the limit may go, and the answer says what is left': async ({
    call,
    id: key,
  }) => {
    const query = 'maxRequests=3&windowMillis=86400000'
    const first = await decide(call, key, query)
    const body = expectOk(first)
    expect(body).toMatchObject({ allowed: true, remaining: 2, waited_ms: 0 })
    expect(body.request_id).toBe(first.headers['x-request-id'])
    expect(body.window.end - body.window.start).toBe(86_400)
    expect(body.window.start).toBeLessThanOrEqual(nowSeconds())
    expectHeaders(first, 'q=3;w=86400', 2)
    const second = await decide(call, key, `${query}&cost=2`)
    expect(expectOk(second).remaining).toBe(0)
    expectHeaders(second, 'q=3;w=86400', 0)
  },
  'a key that nobody has heard of has 100 a second': async ({ call, queue }) => {
    for (;;) {
      const answer = await decide(call, queue())
      const { window } = expectOk(answer)
      // On a busy machine its second may be over by now, and the answer may tell of the next.
      if (nowSeconds() < window.end) return expectHeaders(answer, 'q=100;w=1', 99)
    }
  },
  'the answer to a request beyond the limit says when to come back': async ({ call, id: key }) => {
    expectOk(await decide(call, key, oneADay))
    const answer = await decide(call, key, oneADay)
    const body = expectError(answer, 429, 'RATE_LIMITED')
    expect(body).toMatchObject({ allowed: false, retryable: true })
    expect(Number(answer.headers['retry-after'])).toBe(Math.ceil(body.retry_after_ms / 1000))
    expectHeaders(answer, 'q=1;w=86400', 0)
  },
  'a call that may wait is held until its turn, one in each window': async ({ call, id: key }) => {
    const query = 'maxRequests=1&windowMillis=300&canWait=true'
    const starts: number[] = []
    for (let n = 1; n <= 4; n += 1) {
      const body = expectOk(await decide(call, key, query))
      expect(body.window.start).toBeLessThanOrEqual(nowSeconds())
      starts.push(body.window.start)
    }
    expect(new Set(starts).size).toBe(4)
    expect(starts.toSorted((a, b) => a - b)).toEqual(starts)
  },
  'one whose turn comes too late gets a ticket, which can be looked at by its own key only':
    async ({ call, queue, id: key }) => {
      expectOk(await decide(call, key, oneADay))
      const { ticket, answer } = await ticketOf(call, key)
      const body = JSON.parse(answer.text)
      expect(body).toMatchObject({ allowed: false, position: 1 })
      expect(body.not_before % 86_400).toBe(0)
      expectHeaders(answer, 'q=1;w=86400', 0)
      const state = await call('GET', at(key, `/tickets/${ticket}`))
      expect(expectOk(state)).toMatchObject({ state: 'waiting', not_before: body.not_before })
      expect(Number(state.headers['retry-after'])).toBeGreaterThan(0)
      for (const [other, text] of [
        [queue(), ticket],
        [key, `${ticket}x`],
        [key, ticket.slice(1)],
        [key, 'nonsense'],
      ]) {
        for (const method of ['GET', 'DELETE']) {
          const refused = await call(method, at(other as string, `/tickets/${text}`))
          expectError(refused, 404, 'TICKET_NOT_FOUND')
        }
      }
    },
  'a place is given up only where nobody waits behind it': async ({ call, id: key }) => {
    expectOk(await decide(call, key, oneADay))
    const first = await ticketOf(call, key)
    const second = await ticketOf(call, key)
    expect([first.position, second.position]).toEqual([1, 2])
    const giveUp = async (ticket: string) =>
      expectOk(await call('DELETE', at(key, `/tickets/${ticket}`)))
    expect(await giveUp(first.ticket)).toEqual({ given_up: false, reason: 'others_wait_behind' })
    expect(await giveUp(second.ticket)).toEqual({ given_up: true })
    expect((await ticketOf(call, key)).position).toBe(2)
  },
  'a line that is full is a denial': async ({ call, id: key }) => {
    const query = `${oneADay}&maxRequestsInQueue=1&canWait=true&maxWaitMs=0`
    const statuses = []
    for (let n = 1; n <= 3; n += 1) statuses.push((await decide(call, key, query)).status)
    expect(statuses).toEqual([200, 202, 429])
  },
  'a ticket is ready at its turn, and cannot be given up then': async ({ call, id: key, pass }) => {
    const query = 'maxRequests=1&windowMillis=500&canWait=true&maxWaitMs=0'
    let answer = await decide(call, key, query)
    while (answer.status === 200) answer = await decide(call, key, query)
    const { ticket, retry_after_ms: waitMs } = JSON.parse(answer.text)
    await pass(waitMs + 50)
    const address = at(key, `/tickets/${ticket}`)
    const state = await call('GET', address)
    expect(expectOk(state).state).toBe('ready')
    expect(state.headers['retry-after']).toBeUndefined()
    const late = { given_up: false, reason: 'too_late' }
    expect(expectOk(await call('DELETE', address))).toEqual(late)
  },
  'a look at a limit shows its state and changes nothing': async ({ call, id: key }) => {
    const state = async () => expectOk(await call('GET', at(key)))
    expect(await state()).toMatchObject({ key, from: 'default', configuration: defaults })
    expectOk(await configure(call, key, { max_requests: 2, window_millis: 86_400_000 }))
    expectOk(await decide(call, key))
    const shard = { shard: 0, limit: 2, remaining: 1, waiting: 0, last_turn: null }
    const first = await state()
    expect(first).toMatchObject({ from: 'key', shards: [shard] })
    expect(await state()).toEqual(first)
    expectOk(await decide(call, key))
    const held = await decide(call, key, 'canWait=true')
    const { not_before } = JSON.parse(held.text)
    const waits = { remaining: 0, waiting: 1, last_turn: not_before }
    expect(await state()).toMatchObject({ shards: [waits] })
  },
  'a configured key lets no call choose, unless it allows that': async ({ call, id: key }) => {
    expectOk(await configure(call, key, { max_requests: 5 }))
    for (const field of ['maxRequests', 'maxRequestsInQueue', 'windowMillis']) {
      const refused = expectError(await decide(call, key, `${field}=101`), 403, 'OVERRIDE_REFUSED')
      expect(refused).toMatchObject({ field, retryable: false })
    }
    expectOk(await decide(call, key, 'maxRequests=5'))
    expectOk(await configure(call, key, { max_requests: 5, allow_overrides: true }))
    const own = await decide(call, key, 'maxRequests=7')
    expectOk(own)
    expect(own.headers['ratelimit-policy']).toBe('"default";q=7;w=1')
  },
  'a limit is configured whole, at the revision of If-Match': async ({ call, id: key }) => {
    const get = () => call('GET', at(key, '/config'))
    expect(expectOk(await get())).toEqual(defaults)
    expect((await get()).headers.etag).toBe('"0"')
    const own = { ...defaults, allow_overrides: false }
    const smooth = { max_requests: 10, algorithm: 'smooth', burst: 5 }
    expect(expectOk(await configure(call, key, smooth, '"0"'))).toEqual({ ...own, ...smooth })
    expectError(await configure(call, key, {}, '"0"'), 412, 'VERSION_MISMATCH')
    const { etag = '' } = (await get()).headers
    expectOk(await configure(call, key, { shards: 4 }, `"7", ${etag}`))
    const given = expectOk(await get())
    expect(given).toEqual({ ...own, shards: 4 })
    expect(expectOk(await configure(call, key, given))).toEqual(given)
    expect(expectOk(await call('GET', at(key))).shards).toHaveLength(4)
    const stale = { headers: { 'If-Match': etag } }
    expectError(await call('DELETE', at(key, '/config'), stale), 412, 'VERSION_MISMATCH')
    expect(expectOk(await call('DELETE', at(key, '/config')))).toEqual(defaults)
    expect(expectOk(await call('DELETE', at(key, '/config')))).toEqual(defaults)
  },
  'the longest prefix that a key begins with says what applies to it': async ({ call, queue }) => {
    const prefix = `${queue()}.`
    const patterns = [
      { prefix, max_requests: 20 },
      { prefix: `${prefix}free.`, max_requests: 2 },
    ]
    const put = (body: unknown, headers = {}) =>
      call('PUT', '/rate-config', { body: JSON.stringify(body), headers })
    const before = await call('GET', '/rate-config')
    expectOk(before)
    const changed = await put({ patterns }, { 'If-Match': before.headers.etag as string })
    const applied = expectOk(changed)
    expect(applied.patterns.map((one: { prefix: string }) => one.prefix)).toEqual([
      `${prefix}free.`,
      prefix,
    ])
    expect(expectOk(await call('GET', '/rate-config'))).toEqual(applied)
    const stale = { 'If-Match': before.headers.etag as string }
    expectError(await put({ patterns: [] }, stale), 412, 'VERSION_MISMATCH')
    const limitOf = async (key: string) => {
      const state = expectOk(await call('GET', at(key)))
      return [state.from, state.configuration.max_requests]
    }
    expect(await limitOf(`${prefix}free.1`)).toEqual(['pattern', 2])
    expect(await limitOf(`${prefix}paid`)).toEqual(['pattern', 20])
    expect(await limitOf(queue())).toEqual(['default', 100])
    expectOk(await configure(call, `${prefix}paid`, { max_requests: 21 }))
    expect(await limitOf(`${prefix}paid`)).toEqual(['key', 21])
    expect((await call('GET', at(`${prefix}free.1`, '/config'))).headers.etag).toBe('"0"')
    expect(expectOk(await put({ patterns: [] }))).toEqual({ patterns: [] })
  },
}
