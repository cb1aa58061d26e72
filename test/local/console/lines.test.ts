import { describe, expect, test } from 'vitest'
import { outputLine, requestLine } from '../../../local/console/lines.ts'
import { type Paint, paintFor } from '../../../local/console/terminal.ts'

const plain: Paint = (_, text) => text
const request = { atMs: 0, method: 'POST', path: '/queue/a/push', status: 200, durationMs: 12.3 }
const lineOf = (change: object) =>
  requestLine({ ...request, ...change }, plain).slice('00:00:00'.length)

describe('the line of a request', () => {
  test.each([
    {
      name: 'with its units',
      change: { summary: { write_units: 2, read_units: 0.5, s3_requests: 1 } },
      line: '  POST  /queue/a/push  200  12 ms  2 WRU, 0.5 RRU, 1 S3',
    },
    {
      name: 'without any',
      change: { summary: { write_units: 0 } },
      line: '  POST  /queue/a/push  200  12 ms',
    },
    {
      name: 'without a word from the function',
      change: {},
      line: '  POST  /queue/a/push  200  12 ms',
    },
    {
      name: 'that was quick',
      change: { durationMs: 1.26 },
      line: '  POST  /queue/a/push  200  1.3 ms',
    },
    {
      name: 'that was refused',
      change: { method: 'GET', status: 404, summary: { error_code: 'NOT_FOUND' } },
      line: '  GET   /queue/a/push  404 NOT_FOUND  12 ms',
    },
    {
      name: 'whose path would move the cursor',
      change: { path: '/a\u001b[2J\n' },
      line: '  POST  /a\ufffd[2J\ufffd  200  12 ms',
    },
    {
      name: 'whose path is long',
      change: { path: `/${'x'.repeat(500)}` },
      line: `  POST  /${'x'.repeat(119)}…  200  12 ms`,
    },
  ])('$name', ({ change, line }) => {
    expect(lineOf(change)).toBe(line)
  })

  test('begins with the time of whoever looks at it', () => {
    const atMs = new Date(2026, 10, 18, 9, 5, 7).getTime()
    expect(requestLine({ ...request, atMs }, plain)).toMatch(/^09:05:07 {2}POST/)
  })
})

describe('what a function has to say', () => {
  const line = (text: string, json?: object, stream: 'stdout' | 'stderr' = 'stdout') =>
    outputLine({ functionId: 'Push', stream, text, ...(json && { json: { ...json } }) }, plain)

  test('plain text as it is', () => {
    expect(line('hello\tyou')).toBe('[Push] hello you')
    expect(line('oh', undefined, 'stderr')).toBe('[Push] oh')
  })

  test.each([
    { name: 'routine', json: { level: 'info', message: 'run' } },
    { name: 'metrics alone', json: { _aws: {}, ItemsPushed: 1 } },
    {
      name: 'a request, which has a line of its own',
      json: { level: 'warn', message: 'request', status: 404 },
    },
  ])('nothing of $name', ({ json }) => {
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
})

describe('colours', () => {
  test.each([
    { name: 'on a terminal', output: { isTTY: true }, environment: {}, coloured: true },
    { name: 'not in a file', output: {}, environment: {}, coloured: false },
    {
      name: 'not for who wants none',
      output: { isTTY: true },
      environment: { NO_COLOR: '1' },
      coloured: false,
    },
    {
      name: 'not on a dumb terminal',
      output: { isTTY: true },
      environment: { TERM: 'dumb' },
      coloured: false,
    },
  ])('$name', ({ output, environment, coloured }) => {
    const paint = paintFor({ write() {}, ...output }, environment)
    expect(paint('red', 'x')).toBe(coloured ? '\u001b[31mx\u001b[0m' : 'x')
  })
})
