import { describe, expect, it } from 'vitest'
import {
  defaultSettings,
  overridden,
  patternsFrom,
  rulesOf,
  type SettingsInput,
  settingsByPattern,
  settingsFrom,
} from '../../../rate/core/settings.ts'

describe('Settings', () => {
  it('are the sources’ figures by default: 100 a second, 400 in line.', () => {
    const { maxRequests, maxRequestsInQueue, windowMillis } = defaultSettings
    expect({ maxRequests, maxRequestsInQueue, windowMillis }).toEqual({
      maxRequests: 100,
      maxRequestsInQueue: 400,
      windowMillis: 1_000,
    })
  })

  it('are closed to overrides unless opened.', () => {
    expect(settingsFrom({}).allowOverrides).toBe(false)
    expect(settingsFrom({ allowOverrides: true }).allowOverrides).toBe(true)
  })

  it.each<[SettingsInput, string]>([
    [{ maxRequests: 0 }, 'maxRequests'],
    [{ maxRequests: 1.5 }, 'maxRequests'],
    [{ maxRequests: 100_001 }, 'maxRequests'],
    [{ maxRequestsInQueue: -1 }, 'maxRequestsInQueue'],
    [{ windowMillis: 99 }, 'windowMillis'],
    [{ windowMillis: 86_400_001 }, 'windowMillis'],
    [{ shards: 26 }, 'shards'],
    [{ maxRequests: 3, shards: 4 }, 'shards'],
    [{ burst: 2 }, 'burst'],
    [{ algorithm: 'smooth', maxRequests: 4, burst: 5 }, 'burst'],
    [{ algorithm: 'leaky' as 'smooth' }, 'algorithm'],
    [{ allowOverrides: 'yes' as unknown as boolean }, 'allowOverrides'],
    [{ limit: 3 } as SettingsInput, 'limit'],
  ])('%j are refused, and the error names %s.', (input, field) => {
    expect(() => settingsFrom(input)).toThrow(
      expect.objectContaining({ code: 'INVALID_PARAMETER', field }),
    )
  })

  it('may be overridden if they say so, or with what they are anyway.', () => {
    const closed = settingsFrom({ maxRequests: 5 })
    expect(overridden(closed, { maxRequests: 5 }).kind).toBe('settings')
    expect(overridden(closed, { maxRequests: 6 })).toEqual({
      kind: 'refused',
      field: 'maxRequests',
    })
    const open = settingsFrom({ maxRequests: 5, allowOverrides: true })
    expect(overridden(open, { maxRequests: 6 })).toMatchObject({ settings: { maxRequests: 6 } })
    expect(() => overridden(open, { windowMillis: 5 })).toThrow('windowMillis')
  })

  it('are shared out over shards, and lose nothing.', () => {
    const settings = settingsFrom({ maxRequests: 10, shards: 4 })
    const shares = [0, 1, 2, 3].map((shard) => rulesOf(settings, shard).maxRequests)
    expect(shares).toEqual([3, 3, 2, 2])
  })
})

describe('Patterns', () => {
  const patterns = patternsFrom([
    { prefix: '', settings: { maxRequests: 1 } },
    { prefix: 'api-login', settings: { maxRequests: 3 } },
    { prefix: 'api-', settings: { maxRequests: 2 } },
  ])

  it.each([
    ['api-login-42', 3, 'the longest'],
    ['api-logout', 2, 'the longest that fits'],
    ['other', 1, 'the empty one fits all'],
  ])('give %s its %i: %s.', (key, maxRequests) => {
    const settings = settingsByPattern({ patterns, revision: 1 }, key)
    expect(settings.maxRequests).toBe(maxRequests)
  })

  it.each([
    [[{ prefix: 'a#', settings: {} }], 'patterns[0].prefix'],
    [
      [
        { prefix: 'a', settings: {} },
        { prefix: 'a', settings: {} },
      ],
      'patterns[1].prefix',
    ],
    [[{ prefix: 'a', settings: { shards: 2 } }], 'patterns[0].shards'],
    [Array.from({ length: 101 }, (_, i) => ({ prefix: `p${i}`, settings: {} })), 'patterns'],
  ])('%# are refused, and the error names %s.', (inputs, field) => {
    expect(() => patternsFrom(inputs)).toThrow(expect.objectContaining({ field }))
  })
})
