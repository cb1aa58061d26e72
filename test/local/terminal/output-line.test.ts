import { describe, expect, test } from 'vitest'
import { outputLine } from '../../../local/terminal/output.ts'
import type { Paint } from '../../../local/terminal/terminal.ts'

const plain: Paint = (_, text) => text
const bundle = `/project/node_modules/.cache/pushpop/1/asset.${'0a'.repeat(32)}`
const line = (text: string, json?: object, stream: 'stdout' | 'stderr' = 'stdout') =>
  outputLine(
    { functionId: 'Push', stream, text, ...(json && { json: { ...json } }) },
    plain,
  )?.slice('00:00:00  '.length)

describe('what a function has to say', () => {
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

  test('every line with the time of day where somebody reads it', () => {
    const atMs = new Date(2026, 10, 18, 9, 5, 7).getTime()
    const output = { functionId: 'Push', stream: 'stdout', text: 'hello' } as const
    expect(outputLine(output, plain, atMs)).toBe('09:05:07  [Push] hello')
  })

  test('an error that it prints, with the places in its own files', () => {
    const frames = [
      ['Error: no such order', 'Error: no such order'],
      [`    at ship (${bundle}/src/ship.ts:3:7)`, '    at ship (src/ship.ts:3:7)'],
      [`    at async file://${bundle}/src/index.ts:9:1`, '    at async src/index.ts:9:1'],
      [
        '    at work (/project/app/node_modules/.cache/pushpop/node_modules/pushpop/run.js:1:2)',
        '    at work (node_modules/pushpop/run.js:1:2)',
      ],
      ['    at async invoke (file:///stack/local/functions/runner.mjs:1:1)', undefined],
      ['    at process.processTicksAndRejections (node:internal/process:1:1)', undefined],
      ['    at node:internal/process:1:1 {', '    at node:internal/process:1:1 {'],
    ] as const
    for (const [text, shown] of frames) {
      expect(line(text, undefined, 'stderr')).toBe(shown && `[Push] ${shown}`)
    }
  })
})

describe('of the logs of others,', () => {
  const err = {
    type: 'TypeError',
    message: 'no such order',
    stack: [
      'TypeError: no such order',
      `    at settle (${bundle}/node_modules/axios/lib/core/settle.js:19:12)`,
      `    at ship (${bundle}/src/ship.ts:3:7)`,
    ].join('\n'),
  }
  const shown = 'TypeError: no such order (at ship (src/ship.ts:3:7))'
  const pino = { time: 1_790_000_000_000, pid: 17, hostname: 'here' }
  const powertools = {
    timestamp: '2026-11-18T09:05:07.000Z',
    service: 'shop',
    cold_start: false,
    function_name: 'Ship',
    function_request_id: 'a-b',
    xray_trace_id: '1-2',
  }

  test.each([
    ['an error of pino', { level: 50, ...pino, order: 17, msg: 'no' }, 'no order=17'],
    ['a warning of pino', { level: 40, ...pino, msg: 'slow' }, 'slow'],
    ['a level between two', { level: 45, ...pino, msg: 'slow' }, 'slow'],
    ['what ends a process', { level: 60, ...pino, msg: 'out of memory' }, 'out of memory'],
    ["pino's error, once", { level: 50, ...pino, err, msg: err.message }, `err=${shown}`],
    [
      "pino's error in a sentence",
      { level: 50, err, msg: 'Cannot ship' },
      `Cannot ship err=${shown}`,
    ],
    ['an error without a sentence', { level: 50, ...pino, err }, `err=${shown}`],
    ['an error of Powertools', { level: 'ERROR', ...powertools, message: 'no' }, 'no'],
    ['a warning of Powertools', { level: 'WARN', ...powertools, message: 'slow' }, 'slow'],
    ['what is critical', { level: 'CRITICAL', message: 'no' }, 'no'],
    ['what is fatal', { level: 'fatal', message: 'no' }, 'no'],
    ['a warning in full', { level: 'warning', message: 'slow' }, 'slow'],
    ['another name of the message', { level: 'error', msg: 'E' }, 'E'],
    ['a message that is no text', { level: 'error', message: { order: 17 } }, '{"order":17}'],
  ])('%s', (_, json, expected) => {
    expect(line('{}', json)).toBe(`[Push] ${expected}`)
    expect(line('{}', json, 'stderr')).toBe(`[Push] ${expected}`)
  })

  test.each([
    { level: 30, msg: 'run' },
    { level: 'INFO', message: 'run' },
  ])('nothing of routine: %j', (json) => {
    expect(line('{}', json)).toBeUndefined()
    expect(line('{}', json, 'stderr')).toBeUndefined()
  })

  test('JSON on stderr that is no log line, as it is', () => {
    expect(line('{"order":17}', { order: 17 }, 'stderr')).toBe('[Push] {"order":17}')
    expect(line('{"order":17}', { order: 17 })).toBeUndefined()
  })
})
