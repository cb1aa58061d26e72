// Rate limits: what is asked and how each answer is told, of a server that speaks by a script; then
// every command on both kinds of places.

import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, test } from 'vitest'
import { withRates } from '../../cli/target/open.ts'
import { clearOfMidnight } from '../support/midnight.ts'
import { type Line, type RunOptions, run, wordsOf } from './a-run.ts'
import { places, type Started, useFolder, usePlace, useServer } from './places.ts'

type Scripted = {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object | string
}
type Seen = {
  readonly asked: string
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

const settings = {
  max_requests: 100,
  max_requests_in_queue: 400,
  window_millis: 1_000,
  algorithm: 'window',
  burst: 1,
  shards: 1,
  allow_overrides: false,
}
const go: Scripted = {
  headers: { 'ratelimit-policy': '"default";q=100;w=1', ratelimit: '"default";r=99;t=1' },
  body: '{"allowed":true,"request_id":"r1","remaining":1099,"window":{"start":10.0,"end":11.0},"waited_ms":0}',
}
const no: Scripted = {
  status: 429,
  headers: { 'retry-after': '1' },
  body: {
    success: false,
    error_code: 'RATE_LIMITED',
    message: 'The limit of this window is reached',
    retryable: true,
    request_id: 'r2',
    allowed: false,
    retry_after_ms: 640,
  },
}
const later: Scripted = {
  status: 202,
  headers: { 'retry-after': '13' },
  body: {
    allowed: false,
    request_id: 'r3',
    ticket: 'WyJrIl0.c2ln',
    not_before: 1_700_000_012.25,
    position: 1_201,
    retry_after_ms: 12_250,
  },
}
const error = (status: number, code: string, details: object = {}): Scripted => ({
  status,
  body: {
    success: false,
    error_code: code,
    message: `It is ${code}`,
    retryable: false,
    request_id: 'r4',
    ...details,
  },
})

describe('A rate command over HTTP', () => {
  let script: Scripted[] = []
  let seen: Seen[] = []
  const endpoint = useServer(answerByScript)
  const file = useFolder()
  beforeEach(() => {
    script = []
    seen = []
  })

  async function answerByScript(request: IncomingMessage, response: ServerResponse) {
    const body = await text(request)
    const { method, url, headers } = request
    seen.push({
      asked: `${method} ${url}`,
      headers,
      body: body === '' ? undefined : JSON.parse(body),
    })
    const next = script.shift()
    // Never answered: whoever waits for it is to go away.
    if (next === undefined) return
    response.writeHead(next.status ?? 200, { 'content-type': 'application/json', ...next.headers })
    response.end(typeof next.body === 'string' ? next.body : JSON.stringify(next.body))
  }

  const pushpop = (line: Line, answers: readonly Scripted[], options?: RunOptions) => {
    const [name = '', ...args] = wordsOf(line)
    script = [...answers]
    return run([name, '--endpoint', endpoint(), ...args], options)
  }
  const asked = () => seen.map((request) => request.asked)

  test('ends with 0 if it may go, and asks for no more than was given', async () => {
    expect(await pushpop('rate k', [go])).toEqual({
      code: 0,
      stdout: 'go\n',
      stderr: 'k goes; 1,099 left in this window.\n',
    })
    expect(seen).toMatchObject([{ asked: 'POST /rate/k', body: undefined }])
  })

  test('sends each option as a parameter', async () => {
    const options = ['--wait', '--max-wait', '5000', '--cost', '2', '--caller', 'a b&c']
    const limits = ['--max-requests', '5', '--max-in-line', '0', '--window', '100']
    await pushpop(['rate', 'k', ...options, ...limits], [go])
    const query = Object.fromEntries(new URL((asked()[0] ?? '').slice(5), endpoint()).searchParams)
    expect(query).toEqual({
      canWait: 'true',
      // The waiting is done here.
      maxWaitMs: '0',
      cost: '2',
      caller: 'a b&c',
      maxRequests: '5',
      maxRequestsInQueue: '0',
      windowMillis: '100',
    })
  })

  test('says how long it waited for its turn', async () => {
    const held = { body: { allowed: true, remaining: 0, window: {}, waited_ms: 1_234 } }
    const { stdout, stderr } = await pushpop('rate k --wait', [held])
    expect(stdout).toBe('go\n')
    expect(stderr).toBe('k goes after 1.3 s in line; 0 left in this window.\n')
  })

  test('ends with 4 if it may not go, and does not ask again', async () => {
    expect(await pushpop('rate k', [no, go])).toEqual({
      code: 4,
      stdout: 'no\n',
      stderr: 'k must not go because this window is full; try again in 640 ms.\n',
    })
    const waiting = await pushpop('rate k --wait', [no, go])
    expect(waiting.stderr).toContain('because the line of those who wait is full')
    expect(seen).toHaveLength(2)
  })

  test('ends with 6 and a ticket, and prints the line that verifies it', async () => {
    expect(await pushpop('rate k --wait', [later])).toEqual({
      code: 6,
      stdout: 'wait until 2023-11-14T22:13:32.250Z\n',
      stderr:
        'k has a place in line, behind 1,200 others. Its ticket says when it may go:\n' +
        `  pushpop rate-ticket --endpoint ${endpoint()} k WyJrIl0.c2ln\n`,
    })
  })

  describe('whose turn comes soon', () => {
    const soon: Scripted = { status: 202, body: { ...(later.body as object), retry_after_ms: 20 } }
    const ticket = (state: string, more: object = {}): Scripted => ({
      body: { state, not_before: 12.25, good_until: 22.5, ...more },
    })
    const decided = 'POST /rate/k?canWait=true&maxWaitMs=0'
    const verified = 'GET /rate/k/tickets/WyJrIl0.c2ln'

    test('waits, and verifies its ticket', async () => {
      const ran = await pushpop('rate k --wait', [soon, ticket('ready')])
      expect(ran).toEqual({
        code: 0,
        stdout: 'go\n',
        stderr: expect.stringMatching(/^k goes after [\d.]+ m?s in line\.\n$/),
      })
      expect(asked()).toEqual([decided, verified])
    })

    test('prints a go with --json too, with its ticket', async () => {
      const ran = await pushpop('rate k --wait --json', [soon, ticket('ready')])
      expect({ ...ran, stdout: JSON.parse(ran.stdout) }).toEqual({
        code: 0,
        stdout: {
          allowed: true,
          ticket: 'WyJrIl0.c2ln',
          not_before: 12.25,
          good_until: 22.5,
          waited_ms: expect.any(Number),
        },
        stderr: '',
      })
    })

    test('sleeps on if it woke too soon, and asks again if it woke too late', async () => {
      const early = ticket('waiting', { retry_after_ms: 5 })
      const script = [soon, early, ticket('over'), soon, ticket('ready')]
      expect((await pushpop('rate k --wait', script)).code).toBe(0)
      expect(asked()).toEqual([decided, verified, verified, decided, verified])
    })

    test('prints the ticket of a turn that is later than --max-wait', async () => {
      const ran = await pushpop('rate k --wait --max-wait 19', [soon])
      expect(ran).toMatchObject({ code: 6, stdout: expect.stringMatching(/^wait until /) })
      expect(asked()).toEqual([decided])
    })
  })

  test('prints each answer as it came with --json', async () => {
    const codes = { go: 0, no: 4, later: 6 }
    for (const [name, answer] of Object.entries({ go, no, later })) {
      const { code, stdout, stderr } = await pushpop('rate k --wait --json', [answer])
      const { body } = answer
      const line = typeof body === 'string' ? body : JSON.stringify(body)
      expect({ code, stdout, stderr }).toEqual({
        code: codes[name as keyof typeof codes],
        stdout: `${line}\n`,
        stderr: '',
      })
    }
  })

  test('tells what is refused or wrong, with the exit code of its kind', async () => {
    const refused = await pushpop('rate k', [error(403, 'OVERRIDE_REFUSED')])
    expect(refused).toEqual({ code: 4, stdout: '', stderr: 'It is OVERRIDE_REFUSED\n' })
    expect((await pushpop('rate k', [error(400, 'INVALID_PARAMETER')])).code).toBe(2)
    const forbidden = { status: 403, body: { message: 'Forbidden' } }
    expect((await pushpop('rate k', [forbidden])).code).toBe(4)
    const json = await pushpop('rate k --json', [error(500, 'INTERNAL')])
    expect({ code: json.code, stdout: json.stdout }).toEqual({ code: 1, stdout: '' })
    expect(JSON.parse(json.stderr)).toMatchObject({ error_code: 'INTERNAL', outcome: 'unknown' })
  })

  test('asks again after trouble that passes, unless a place may have been taken', async () => {
    const busy = error(503, 'BUSY', { retryable: true })
    const throttled = { status: 429, body: { message: 'Too Many Requests' } }
    expect((await pushpop('rate k', [busy, throttled, go])).code).toBe(0)
    expect(seen).toHaveLength(3)
    const lost = error(503, 'STORE_UNAVAILABLE', { retryable: true, outcome: 'unknown' })
    const doubtful = await pushpop('rate k', [lost, go])
    expect(doubtful).toMatchObject({ code: 1, stdout: '' })
    expect(doubtful.stderr).toContain('it may have been done anyway')
    expect(seen).toHaveLength(4)
    const looked = await pushpop('rate-config k --json', [lost, { body: settings }])
    expect(looked.code).toBe(0)
  })

  test('says where nothing answers, as every command does', async () => {
    const { code, stderr } = await run('rate k --endpoint http://localhost:8999')
    expect(code).toBe(1)
    expect(stderr).toContain('Cannot reach http://localhost:8999 because nothing answers there')
  })

  test('that is held ends with Ctrl-C', async () => {
    const ending = new AbortController()
    const held = pushpop('rate k --wait', [], { interrupt: ending.signal })
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(1)
    ending.abort()
    const { code, stderr } = await held
    expect(code).toBe(130)
    expect(stderr).toBe('Stopped; it may have been done anyway.\n')
  })

  test('carries the token', async () => {
    await pushpop('rate k', [go], { env: { PUSHPOP_TOKEN: 'abc' } })
    expect(seen[0]?.headers.authorization).toBe('Bearer abc')
  })

  test('tells of a ticket that it is ready (0), waiting (6) or over (4), and refuses another (4)', async () => {
    const ticket = (state: string) => ({ body: { state, not_before: 12.25, good_until: 22.5 } })
    const verify = (answer: Scripted) => pushpop('rate-ticket k WyJrIl0.c2ln', [answer])
    expect(await verify(ticket('ready'))).toEqual({
      code: 0,
      stdout: 'ready until 1970-01-01T00:00:22.500Z\n',
      stderr: '',
    })
    expect(await verify(ticket('waiting'))).toMatchObject({
      code: 6,
      stdout: 'waiting until 1970-01-01T00:00:12.250Z\n',
    })
    expect(await verify(ticket('over'))).toMatchObject({
      code: 4,
      stdout: 'over since 1970-01-01T00:00:22.500Z\n',
    })
    expect(await verify(error(404, 'TICKET_NOT_FOUND'))).toMatchObject({ code: 4, stdout: '' })
    expect(new Set(asked())).toEqual(new Set(['GET /rate/k/tickets/WyJrIl0.c2ln']))
  })

  test('gives a place up, or says why not', async () => {
    const giveUp = (body: object) => pushpop('rate-ticket k WyJrIl0.c2ln --give-up', [{ body }])
    expect(await giveUp({ given_up: true })).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Gave the place up; it is free for another.\n',
    })
    const kept = await giveUp({ given_up: false, reason: 'others_wait_behind' })
    expect(kept.code).toBe(4)
    expect(kept.stderr).toContain('stays empty because others wait behind it')
    const late = await giveUp({ given_up: false, reason: 'too_late' })
    expect(late.stderr).toBe('Cannot give the place up because its turn has come.\n')
    expect(asked()[0]).toBe('DELETE /rate/k/tickets/WyJrIl0.c2ln')
  })

  test('shows, sets and removes a configuration', async () => {
    const own = { body: settings, headers: { etag: '"17"' } }
    const shown = await pushpop('rate-config k', [own])
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(shown.stdout.split('\n').slice(0, 2)).toEqual([
      'max_requests           100',
      'max_requests_in_queue  400',
    ])
    const args = ['--max-requests', '9', '--algorithm', 'smooth', '--burst', '3', '--shards', '2']
    const more = ['--max-in-line', '0', '--window', '60000', '--allow-overrides']
    const set = await pushpop(['rate-config', 'k', 'set', ...args, ...more], [own])
    expect(set).toMatchObject({ code: 0, stderr: 'Configured k.\n' })
    const removed = await pushpop('rate-config k remove', [
      { body: settings, headers: { etag: '"0"' } },
    ])
    expect(removed.stderr).toBe('k has no configuration of its own; this applies.\n')
    expect(asked()).toEqual(['GET /rate/k/config', 'PUT /rate/k/config', 'DELETE /rate/k/config'])
    expect(seen[1]?.body).toEqual({
      max_requests: 9,
      max_requests_in_queue: 0,
      window_millis: 60_000,
      algorithm: 'smooth',
      burst: 3,
      shards: 2,
      allow_overrides: true,
    })
  })

  test('shows a state as a table of shards', async () => {
    const window = { start: 10, end: 11 }
    const shards = [
      { shard: 0, limit: 50, remaining: 0, waiting: 1_200, window, last_turn: 34.5 },
      { shard: 1, limit: 50, remaining: 50, waiting: 0, window, last_turn: null },
    ]
    const body = { key: 'k', from: 'key', configuration: settings, shards }
    const { code, stdout } = await pushpop('rate-state k', [{ body }])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^max_requests +100\n/)
    expect(stdout).toMatch(/\nfrom +key\n\n/)
    expect(stdout.trimEnd().split('\n').slice(-3)).toEqual([
      'SHARD  LIMIT  REMAINING  WAITING  WINDOW ENDS               LAST TURN',
      '    0     50          0    1,200  1970-01-01T00:00:11.000Z  1970-01-01T00:00:34.500Z',
      '    1     50         50        0  1970-01-01T00:00:11.000Z',
    ])
    expect((await pushpop('rate-state k --json', [{ body }])).stdout).toBe(
      `${JSON.stringify(body)}\n`,
    )
  })

  describe('for patterns', () => {
    const patterns = [{ prefix: 'user-', ...settings }]
    const now = { body: { patterns }, headers: { etag: '"5"' } }
    const none = { body: { patterns: [] }, headers: { etag: '"0"' } }
    const set = ['rate-patterns', 'set', '--file']
    const written = (value: unknown) => {
      const name = file(`patterns-${seen.length}.json`)
      writeFileSync(name, typeof value === 'string' ? value : JSON.stringify(value))
      return name
    }

    test('shows them', async () => {
      const { stdout } = await pushpop('rate-patterns', [now])
      expect(stdout.split('\n')).toEqual([
        'PREFIX  REQUESTS  MILLIS  IN LINE  ALGORITHM  BURST  OVERRIDES',
        'user-        100   1,000      400  window         1',
        '',
      ])
      expect((await pushpop('rate-patterns', [none])).stderr).toBe('There are no patterns yet.\n')
    })

    test.each([
      { typed: 'yes\n', code: 0, asks: 2, says: 'Replaced 1 pattern by 2.' },
      { typed: 'y\n', code: 4, asks: 1, says: 'Nothing was replaced: that is not yes.' },
      { typed: '', code: 130, asks: 1, says: 'Nothing was replaced.' },
    ])('replaces them after a question: $says', async ({ typed, code, asks, says }) => {
      const holding = written({ patterns: [...patterns, { prefix: '' }] })
      const options = { isTTY: true, stdin: typed }
      const ran = await pushpop([...set, holding], [now, now], options)
      expect(ran).toMatchObject({ code, stdout: '' })
      expect(ran.stderr).toContain('This replaces 1 pattern by 2;')
      expect(ran.stderr).toContain(says)
      expect(seen).toHaveLength(asks)
      if (asks === 1) return
      expect(seen[1]).toMatchObject({
        asked: 'PUT /rate-config',
        headers: { 'if-match': '"5"' },
        body: { patterns: [...patterns, { prefix: '' }] },
      })
    })

    test('takes them from stdin as well, which cannot answer then', async () => {
      const stdin = JSON.stringify(patterns)
      const unasked = await pushpop('rate-patterns set', [now], { stdin })
      expect(unasked.code).toBe(2)
      expect(unasked.stderr).toContain('there is no terminal to ask on; use --yes')
      expect(seen).toEqual([])
      const json = await pushpop('rate-patterns set --yes --json', [now, now], { stdin })
      expect(json).toEqual({ code: 0, stdout: `${JSON.stringify({ patterns })}\n`, stderr: '' })
    })

    test('leaves those that somebody else has set meanwhile', async () => {
      const moved = error(412, 'VERSION_MISMATCH')
      const ran = await pushpop([...set, written(patterns), '--yes'], [now, moved])
      expect(ran).toMatchObject({ code: 4, stdout: '' })
    })

    test.each([
      { holds: '{bad', says: 'is not JSON' },
      { holds: '{"a":1}', says: 'holds no list' },
    ])('tells what are none before anything is asked: $holds', async ({ holds, says }) => {
      const ran = await pushpop([...set, written(holds), '--yes'], [])
      expect(ran.code).toBe(2)
      expect(ran.stderr).toContain(says)
      expect(seen).toEqual([])
    })
  })
})

describe('a sentence says what is wrong with a command line, with exit code 2', () => {
  test.each([
    ['rate', 'Cannot use rate because KEY is missing'],
    ['rate a/b', `"a/b" is not a rate limit's key`],
    ['rate k --max-wait 5', '--max-wait goes with --wait'],
    [`rate k --caller ${'x'.repeat(257)}`, '--caller has 256 characters'],
    ['rate k --window 99', 'from 100 to 86400000, not "99"'],
    ['rate-config k put', '"put" is none of show, set and remove'],
    ['rate-config k set', 'set needs a setting'],
    ['rate-config k --shards 2', 'settings go with set, not with show'],
    ['rate-patterns put', '"put" is neither show nor set'],
    ['rate-patterns --yes', '--file and --yes go with set'],
    ['rate-secret change', '"change" is none of show, rotate and forget'],
    ['rate-secret rotate --yes', '--yes goes with forget, not with rotate'],
    ['rate-secret rotate', 'in the table itself: give --table and --bucket'],
    ['rate-secret forget --table T --bucket B', 'there is no terminal to ask on; use --yes'],
    ['rate-ticket k ..', '".." is not a ticket'],
  ])('%s', async (line, says) => {
    const { code, stdout, stderr } = await run(line)
    expect(stderr).toContain(says)
    expect(stderr.trimEnd()).not.toContain('\n')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  })
})

describe.each(places)('on $name', ({ start }) => {
  const { place, queue: key, pushpop } = usePlace<Started>(start)
  const json = async (line: Line) => {
    const { code, stdout, stderr } = await pushpop([...wordsOf(line), '--json'])
    return { code, stderr, body: JSON.parse(stdout === '' ? 'null' : stdout) }
  }

  test('a window goes as often as it may, then no more; who can wait has a ticket', async () => {
    await clearOfMidnight()
    const k = key()
    const set = ['--max-requests', '2', '--window', '86400000', '--max-in-line', '3']
    expect(await json(['rate-config', k, 'set', ...set])).toMatchObject({
      code: 0,
      body: { max_requests: 2, window_millis: 86_400_000, max_requests_in_queue: 3, shards: 1 },
    })
    const decided = await json(`rate ${k}`)
    expect(decided).toMatchObject({ code: 0, stderr: '', body: { allowed: true, remaining: 1 } })
    expect(decided.body.window.end - decided.body.window.start).toBe(86_400)
    expect((await pushpop(`rate ${k}`)).stdout).toBe('go\n')
    const denied = await json(`rate ${k}`)
    expect(denied).toMatchObject({
      code: 4,
      stderr: '',
      body: { success: false, error_code: 'RATE_LIMITED', allowed: false, retryable: true },
    })
    expect(denied.body.retry_after_ms).toBeGreaterThan(0)

    const tickets: string[] = []
    for (let position = 1; position <= 2; position += 1) {
      const { code, body } = await json(`rate ${k} --wait`)
      expect({ code, body }).toMatchObject({ code: 6, body: { allowed: false, position } })
      expect(body.not_before).toBe(decided.body.window.end)
      tickets.push(body.ticket)
    }
    const told = await pushpop(`rate ${k} --wait`)
    expect(told.stdout).toMatch(/^wait until [\dT:.-]+Z\n$/)
    expect(told.stderr).toContain('behind 2 others')
    expect((await pushpop(`rate ${k} --wait`)).code).toBe(4)

    const state = await json(`rate-state ${k}`)
    expect(state).toMatchObject({
      code: 0,
      body: { key: k, from: 'key', configuration: { max_requests: 2 } },
    })
    expect(state.body.shards).toMatchObject([{ limit: 2, remaining: 0, waiting: 3 }])
    expect((await pushpop(`rate-state ${k}`)).stdout).toMatch(/\n +0 +2 +0 +3 /)

    const [first = '', second = ''] = tickets
    expect(await json(`rate-ticket ${k} ${first}`)).toMatchObject({
      code: 6,
      body: { state: 'waiting', not_before: decided.body.window.end },
    })
    expect((await pushpop(`rate-ticket ${k} ${second}`)).stdout).toMatch(/^waiting until /)
    expect((await pushpop(`rate-ticket ${key()} ${first}`)).code).toBe(4)
    const forged = await pushpop(`rate-ticket ${k} ${first.split('.')[0]}.AAAA --json`)
    expect(forged).toMatchObject({ code: 4, stdout: '' })
    expect(JSON.parse(forged.stderr)).toMatchObject({ error_code: 'TICKET_NOT_FOUND' })
    expect(await json(`rate-ticket ${k} ${first} --give-up`)).toMatchObject({
      code: 4,
      body: { given_up: false, reason: 'others_wait_behind' },
    })
    const last = told.stderr.trim().split(' ').at(-1) ?? ''
    expect((await pushpop(`rate-ticket ${k} ${last} --give-up`)).code).toBe(0)
    expect((await json(`rate-state ${k}`)).body.shards).toMatchObject([{ waiting: 2 }])
  })

  test('a turn that comes soon is waited for', async () => {
    const k = key()
    // Long enough for two calls to come in one window on a busy machine, too.
    await pushpop(`rate-config ${k} set --max-requests 1 --window 2000`)
    await pushpop(`rate ${k}`)
    const waits = await Promise.all([json(`rate ${k} --wait`), json(`rate ${k} --wait`)])
    for (const { code, body } of waits) expect({ code, body }).toMatchObject({ code: 0 })
    expect(waits.some(({ body }) => body.waited_ms > 0)).toBe(true)
  })

  test('Ctrl-C ends the wait for a turn', async () => {
    const k = key()
    await pushpop(`rate-config ${k} set --max-requests 1 --window 10000`)
    const ending = new AbortController()
    const calls = [1, 2, 3].map(() =>
      pushpop(`rate ${k} --wait --max-wait 20000`, { interrupt: ending.signal }),
    )
    // Of three at least one waits, wherever a window ends.
    const waiting = async () => (await json(`rate-state ${k}`)).body.shards[0].waiting
    await expect.poll(waiting, { timeout: 8_000 }).toBeGreaterThan(0)
    ending.abort()
    const ended = await Promise.all(calls)
    expect(ended.filter(({ code }) => code === 130).length).toBeGreaterThan(0)
    for (const { code, stderr } of ended) if (code === 130) expect(stderr).toMatch(/^Stopped; /)
  })

  test('a limit of the request is refused if the key has one; removed, it is not', async () => {
    const k = key()
    const set = await pushpop(`rate-config ${k} set --max-requests 7`)
    expect(set).toMatchObject({ code: 0, stderr: `Configured ${k}.\n` })
    const refused = await pushpop(`rate ${k} --max-requests 8 --json`)
    expect(refused).toMatchObject({ code: 4, stdout: '' })
    expect(JSON.parse(refused.stderr)).toMatchObject({ error_code: 'OVERRIDE_REFUSED' })
    const removed = await pushpop(`rate-config ${k} remove`)
    expect(removed).toMatchObject({
      code: 0,
      stderr: `${k} has no configuration of its own; this applies.\n`,
    })
    expect(removed.stdout).toMatch(/^max_requests +100\n/)
    expect((await pushpop(`rate ${k} --max-requests 8`)).code).toBe(0)
  })

  test('what is wrong is told: a cost above the limit, a burst of a window', async () => {
    expect((await pushpop(`rate ${key()} --cost 101`)).code).toBe(2)
    expect((await pushpop(`rate-config ${key()} set --burst 2`)).code).toBe(2)
  })

  test('patterns are replaced and apply', async () => {
    expect(await pushpop('rate-patterns')).toMatchObject({ code: 0, stdout: '' })
    const stdin = '[{"prefix":"p-","max_requests":3},{"prefix":"p-1","max_requests":1}]'
    const set = await pushpop('rate-patterns set --yes', { stdin })
    expect(set).toEqual({ code: 0, stdout: '', stderr: 'Replaced 0 patterns by 2.\n' })
    const { body } = await json('rate-patterns')
    expect(body.patterns).toMatchObject([
      { prefix: 'p-1', max_requests: 1 },
      { prefix: 'p-', max_requests: 3, window_millis: 1_000 },
    ])
    const applies = await json('rate-config p-2')
    expect(applies.body).toMatchObject({ max_requests: 3, allow_overrides: false })
    // As it was shown it is taken back.
    const again = await pushpop('rate-patterns set --yes', { stdin: JSON.stringify(body) })
    expect(again).toMatchObject({ code: 0, stderr: 'Replaced 2 patterns by 2.\n' })
    for (const bad of ['[{"prefix":"p/"}]', '[{"prefix":"p","colour":1}]', '[7]']) {
      const refused = await pushpop('rate-patterns set --yes', { stdin: bad })
      expect({ bad, ...refused }).toMatchObject({ code: 2, stdout: '' })
    }

    const [first = '', value = '', , bucket] = place().options
    const given =
      first === '--endpoint' ? { endpoint: value } : { table: value, bucket: `${bucket}` }
    const io = { env: {}, interrupt: new AbortController().signal }
    await withRates({ given, io }, async (rates) => {
      const { etag } = await rates.patterns()
      await pushpop('rate-patterns set --yes', { stdin })
      const late = rates.configurePatterns([], etag)
      await expect(late).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
    })
  })
})
