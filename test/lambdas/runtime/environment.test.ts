import { describe, expect, it } from 'vitest'
import { logOf, numberIn, required } from '../../../lambdas/runtime/log.ts'

describe('A variable of the environment', () => {
  it('that is needed must be there.', () => {
    expect(required({ PUSHPOP_TABLE: 'orders' }, 'PUSHPOP_TABLE')).toBe('orders')
    for (const environment of [{}, { PUSHPOP_TABLE: '' }, { PUSHPOP_TABLE: undefined }]) {
      expect(() => required(environment, 'PUSHPOP_TABLE')).toThrow(
        'Cannot start because the environment variable PUSHPOP_TABLE is not set',
      )
    }
  })

  it('that is a number must be a positive integer, or absent.', () => {
    expect(numberIn({ SECONDS: '3600' }, 'SECONDS')).toBe(3600)
    expect(numberIn({}, 'SECONDS')).toBeUndefined()
    expect(numberIn({ SECONDS: '' }, 'SECONDS')).toBeUndefined()
    for (const wrong of ['0', '-5', '1.5', 'ten', 'Infinity']) {
      expect(() => numberIn({ SECONDS: wrong }, 'SECONDS')).toThrow(
        `Cannot start because SECONDS must be a positive integer, not "${wrong}"`,
      )
    }
  })

  it('for the log may be spelled in any case, and falls back to info.', () => {
    for (const [level, lines] of [
      ['DEBUG', 2],
      ['info', 1],
      ['loud', 1],
      [undefined, 1],
      ['error', 0],
    ] as const) {
      const written: string[] = []
      const log = logOf({ PUSHPOP_LOG_LEVEL: level }, (line) => written.push(line))
      log.write('debug', 'a')
      log.write('info', 'b')
      expect(written).toHaveLength(lines)
    }
  })
})
