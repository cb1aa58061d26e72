// Rate limits over real HTTP, on what `npm start` runs: functions in processes of their own, which
// share nothing but the store.

import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LocalStack, startLocalStack } from '../../testing/index.ts'
import type { HttpAnswer } from '../lambdas/http/call.ts'
import { httpCall } from '../lambdas/http/http-call.ts'
import { clearOfMidnight } from '../support/midnight.ts'

let stack: LocalStack
let call: ReturnType<typeof httpCall>
beforeAll(async () => {
  // As long as it can be set to: some callers here want to be held for their turn.
  stack = await startLocalStack({ port: 0, context: { rateHold: '20' } })
  call = httpCall(stack.url)
  await call('GET', '/healthz')
})
afterAll(() => stack?.stop())

/** So many at a time, in this order. */
async function inTurn<T>(
  clients: number,
  count: number,
  work: (n: number) => Promise<T>,
): Promise<T[]> {
  const results: T[] = []
  let next = 0
  const client = async () => {
    while (next < count) {
      const n = next
      next += 1
      results[n] = await work(n)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return results
}

type Asked = HttpAnswer & { readonly wasLost: boolean }

/**
 * A store that is out of reach for a moment is answered 503, to be asked again: the machine may be
 * busy with something else. The slot of a lost answer may be gone.
 */
async function untilAnswered(ask: () => Promise<HttpAnswer>): Promise<Asked> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await ask()
    if (answer.status !== 503 || attempt === 5) return { ...answer, wasLost: attempt > 1 }
    await delay(1_000 * attempt)
  }
}

/** The answers that are not as expected, by what they say, and how many of each. */
function otherThan(expected: number, answers: readonly Asked[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, text, wasLost } of answers) {
    if (status === expected || (status === 429 && wasLost)) continue
    const { message } = JSON.parse(text)
    const what = `${status} ${String(message).replace(/user-\d+/, 'user-…')}`
    counts[what] = (counts[what] ?? 0) + 1
  }
  return counts
}

const json = ({ text }: HttpAnswer) => JSON.parse(text)

const KEYS = 500

describe('Hundreds of keys at once', () => {
  it('are each allowed once, and none of them twice.', async () => {
    await clearOfMidnight(45_000)
    const ask = (n: number) =>
      call('POST', `/rate/user-${n}`, { query: 'maxRequests=1&windowMillis=86400000' })
    const first = await inTurn(64, KEYS, (n) => untilAnswered(() => ask(n)))
    expect(otherThan(200, first)).toEqual({})
    console.info(`asked again after a 503: ${first.filter(({ wasLost }) => wasLost).length}`)
    const again = await inTurn(64, KEYS, (n) => untilAnswered(() => ask(n)))
    expect(otherThan(429, again)).toEqual({})
  }, 180_000)
})

type Served = {
  readonly askedMs: number
  /** When it knew its turn: the answer of the call, held or not. */
  readonly answeredMs: number
  /** When it went. */
  readonly wentMs: number
  /** The window it went in, by what it was promised. */
  readonly turn: number
  readonly how: 'at once' | 'held' | 'ticket'
  readonly wasLost: boolean
}

/** Many more than go at once, and few a second: on a busy machine, too, most of them come before their turn. */
const CALLERS = 300
const A_SECOND = 25

describe('Hundreds of callers of one key that may wait, few a second', () => {
  const limit = { max_requests: A_SECOND, max_requests_in_queue: CALLERS, window_millis: 1_000 }
  /** A call that is held takes a process of some 100 MB, so not all of them can be: one in 25 is. */
  const HELD_EVERY = 25

  async function caller(n: number): Promise<Served> {
    const isHeld = n % HELD_EVERY === 0
    const askedMs = Date.now()
    const query = `canWait=true&maxWaitMs=${isHeld ? 20_000 : 0}`
    const answer = await untilAnswered(() => call('POST', '/rate/hot', { query }))
    const { wasLost } = answer
    const answeredMs = Date.now()
    const body = json(answer)
    if (answer.status === 200) {
      const how = body.waited_ms > 0 ? 'held' : 'at once'
      return { askedMs, answeredMs, wentMs: answeredMs, turn: body.window.start, how, wasLost }
    }
    expect(answer.status, answer.text).toBe(202)
    const turn = body.not_before
    return { askedMs, answeredMs, wentMs: 0, turn, how: 'ticket', wasLost, ...body }
  }

  it('are served in the order in which they came, and no second has more than it may.', async () => {
    const configured = await call('PUT', '/rate/hot/config', { body: JSON.stringify(limit) })
    expect(configured.status, configured.text).toBe(200)
    // Those that are held leave their connection to the others only when they are answered.
    const waiting: Promise<Served>[] = []
    await inTurn(32, CALLERS, async (n) => {
      const served = caller(n)
      waiting.push(served)
      if (n % HELD_EVERY !== 0) await served
      else await delay(20)
    })
    const asked = await Promise.all(waiting)
    const tickets = asked.filter(({ how }) => how === 'ticket') as (Served & { ticket: string })[]
    const last = Math.max(...asked.map(({ turn }) => turn))
    const held = asked.filter(({ how }) => how === 'held')
    expect([held.length > 0, tickets.length > 100]).toEqual([true, true])

    // Every caller has a turn, and it is in one window with as many others as fit.
    const windows = Map.groupBy(asked, ({ turn }) => turn)
    expect(Math.max(...[...windows.values()].map((callers) => callers.length))).toBe(A_SECOND)
    for (const turn of windows.keys()) expect(Number.isInteger(turn)).toBe(true)
    // Nobody is sent to a later window while there is room, but for what a lost answer may have taken.
    const lost = asked.filter(({ wasLost }) => wasLost).length
    const first = Math.min(...windows.keys())
    const seconds = Array.from({ length: last - first }, (_, n) => first + n)
    const roomLeft = seconds.filter(
      (second) => (windows.get(second)?.length ?? 0) < A_SECOND - lost,
    )
    const passedOver = roomLeft.flatMap((second) =>
      asked.filter(({ turn, answeredMs }) => turn > second && answeredMs < (second + 1) * 1_000),
    )
    expect(passedOver).toEqual([])

    // Whoever had his answer before another asked has a turn that is not later than the other's.
    const waited = asked.filter(({ how }) => how !== 'held')
    const overtaken = waited.flatMap((one) =>
      asked.filter((other) => one.answeredMs < other.askedMs && one.turn > other.turn),
    )
    expect(overtaken).toEqual([])
    // Nobody who was held went before his turn.
    expect(held.filter(({ wentMs, turn }) => wentMs < turn * 1_000)).toEqual([])
    // A ticket is good at its turn.
    const some = tickets.filter(({ turn }) => turn === last)[0] ?? tickets.at(-1)
    if (some === undefined) throw new Error('expected a ticket')
    await delay(Math.max(0, some.turn * 1_000 - Date.now()))
    const state = json(await call('GET', `/rate/hot/tickets/${some.ticket}`))
    expect(state.state).toBe('ready')
  }, 90_000)
})
