import { describe, expect, test } from 'vitest'
import {
  noticeLine,
  outputLine,
  requestLine,
  withoutRepeated,
} from '../../../local/terminal/lines.ts'
import { type Paint, paintFor } from '../../../local/terminal/paint.ts'

const plain: Paint = (_, text) => text
const request = { atMs: 0, method: 'POST', path: '/queue/a/push', status: 200, durationMs: 12.3 }
const lineOf = (change: object) =>
  requestLine({ ...request, ...change }, plain).slice('00:00:00'.length)

describe('the line of a request', () => {
  test.each([
    [
      'with its units',
      { summary: { write_units: 2, read_units: 0.5, s3_requests: 1 } },
      '  POST  /queue/a/push  200  12 ms  2 WRU, 0.5 RRU, 1 S3',
    ],
    ['without any', { summary: { write_units: 0 } }, '  POST  /queue/a/push  200  12 ms'],
    ['to another API', { otherPort: 8001 }, '  POST  :8001/queue/a/push  200  12 ms'],
    ['without a word from the function', {}, '  POST  /queue/a/push  200  12 ms'],
    ['that was quick', { durationMs: 1.26 }, '  POST  /queue/a/push  200  1.3 ms'],
    [
      'that was refused',
      { method: 'GET', status: 404, summary: { error_code: 'NOT_FOUND' } },
      '  GET   /queue/a/push  404 NOT_FOUND  12 ms',
    ],
    [
      'whose path would move the cursor',
      { path: '/a\u001b[2J\n' },
      '  POST  /a\ufffd[2J\ufffd  200  12 ms',
    ],
    [
      'whose path is long',
      { path: `/${'x'.repeat(500)}` },
      `  POST  /${'x'.repeat(119)}…  200  12 ms`,
    ],
  ])('%s', (_, change, line) => {
    expect(lineOf(change)).toBe(line)
  })

  test('begins with the time of day where somebody reads it', () => {
    const atMs = new Date(2026, 10, 18, 9, 5, 7).getTime()
    expect(requestLine({ ...request, atMs }, plain)).toMatch(/^09:05:07 {2}POST/)
  })
})

describe('requests of a consumer that polls', () => {
  const look = { ...request, method: 'GET', path: '/queues' }
  const shownOf = (requests: readonly object[]) => {
    const shown = withoutRepeated()
    return requests.map((change) => shown({ ...look, ...change }))
  }

  test('are shown some times, and then no more', () => {
    const requests = [0, 500, 1_000, 1_500, 2_000, 4_000].map((atMs) => ({ atMs }))
    expect(shownOf(requests)).toEqual(['show', 'show', 'show', 'show-the-last', 'hide', 'hide'])
  })

  test('are shown again when there was a pause', () => {
    const requests = [0, 1, 2, 3, 4, 2_005].map((atMs) => ({ atMs }))
    expect(shownOf(requests).at(-1)).toBe('show')
  })

  test.each([
    ['that changes something', { method: 'POST' }],
    ['that was refused', { status: 500 }],
    ['of another path', { path: '/queue/a' }],
    ['to another API', { otherPort: 8001 }],
  ])('hide none %s', (_, change) => {
    const requests = [{}, {}, {}, {}, {}, change]
    expect(shownOf(requests).slice(-2)).toEqual(['hide', 'show'])
  })
})

describe('what a function has to say', () => {
  const line = (text: string, json?: object, stream: 'stdout' | 'stderr' = 'stdout') =>
    outputLine(
      { functionId: 'Push', stream, text, ...(json && { json: { ...json } }) },
      plain,
    )?.slice('00:00:00  '.length)

  test('plain text as it is', () => {
    expect(line('hello\tyou')).toBe('[Push] hello you')
    expect(line('oh', undefined, 'stderr')).toBe('[Push] oh')
  })

  test.each([
    ['routine', { level: 'info', message: 'run' }],
    ['metrics alone', { _aws: {}, ItemsPushed: 1 }],
    ['a request, which has a line of its own', { level: 'warn', message: 'request', status: 404 }],
  ])('nothing of %s', (_, json) => {
    expect(line('{}', json)).toBeUndefined()
  })

  test('an error with its fields, its place and its cause, without metrics', () => {
    const error = {
      name: 'TypeError',
      message: 'x is undefined',
      stack: 'TypeError: x is undefined\n    at push (push.ts:3:7)\n    at other',
      cause: { name: 'Error', message: 'deeper' },
    }
    const json = {
      level: 'error',
      message: 'request failed',
      request_id: 'r=',
      error,
      _aws: {},
      Errors5xx: 1,
    }
    expect(line('{}', json)).toBe(
      '[Push] request failed request_id=r= error=TypeError: x is undefined (at push (push.ts:3:7)) because Error: deeper',
    )
  })

  test('what it threw, with the places in its own files', () => {
    const bundle = `/project/node_modules/.cache/pushpop/1/asset.${'0a'.repeat(32)}`
    const error = JSON.stringify({
      errorType: 'TypeError',
      errorMessage: 'no \u001b[2J',
      trace: [
        'TypeError: no',
        `    at ship (file://${bundle}/src/ship.ts:3:7)`,
        `    at ${bundle}/src/index.ts:9:1`,
        '    at invoke (file:///stack/local/functions/runner.mjs:1:1)',
        '    at node:internal/process:1:1',
      ],
    })
    const places = '\n    at ship (src/ship.ts:3:7)\n    at src/index.ts:9:1'
    expect(line(`Invoke Error ${error}`)).toBe(`[Push] TypeError: no \ufffd[2J${places}`)
    expect(line(`Init Error ${error}`)).toBe(
      `[Push] does not start: TypeError: no \ufffd[2J${places}`,
    )
  })

  test('a notice, and every line, with the time of day where somebody reads it', () => {
    const atMs = new Date(2026, 10, 18, 9, 5, 7).getTime()
    const output = { functionId: 'Push', stream: 'stdout', text: 'hello' } as const
    expect(outputLine(output, plain, atMs)).toBe('09:05:07  [Push] hello')
    expect(noticeLine('Rebuilt.', plain, atMs)).toBe('09:05:07  Rebuilt.')
  })
})

describe('colours', () => {
  test.each([
    ['are used on a terminal', { isTTY: true }, {}, true],
    ['are not used in a file', {}, {}, false],
    ['are not used for somebody who wants none', { isTTY: true }, { NO_COLOR: '1' }, false],
    ['are not used on a dumb terminal', { isTTY: true }, { TERM: 'dumb' }, false],
  ])('%s', (_, output, environment, coloured) => {
    const paint = paintFor({ write() {}, ...output }, environment)
    expect(paint('red', 'x')).toBe(coloured ? '\u001b[31mx\u001b[0m' : 'x')
  })
})
