import { describe, expect, test } from 'vitest'
import { noticeLine, requestLine, withoutRepeated } from '../../../local/terminal/output.ts'
import { type Paint, paintFor } from '../../../local/terminal/terminal.ts'

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

test('a notice begins with the time of day where somebody reads it', () => {
  const atMs = new Date(2026, 10, 18, 9, 5, 7).getTime()
  expect(noticeLine('Rebuilt.', plain, atMs)).toBe('09:05:07  Rebuilt.')
})

describe('colours', () => {
  test.each([
    ['are used on a terminal', { isTTY: true }, {}, true],
    ['are not used in a file', {}, {}, false],
    ['are not used for somebody who wants none', { isTTY: true }, { NO_COLOR: '1' }, false],
    ['are not used on a dumb terminal', { isTTY: true }, { TERM: 'dumb' }, false],
  ])('%s', (_, output, environment, coloured) => {
    const paint = paintFor({ write() {}, ...output }, environment)
    expect(paint('red', 'x')).toBe(coloured ? '\u001b[31mx\u001b[39m' : 'x')
  })
})
