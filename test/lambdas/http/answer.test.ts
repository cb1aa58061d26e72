import { describe, expect, it } from 'vitest'
import { seconds, secondsText } from '../../../lambdas/http/answer.ts'

describe('A time', () => {
  it.each([
    [1_709_139_275_000, '1709139275.0'],
    [1_709_139_275_123, '1709139275.123'],
    [1_709_139_275_100, '1709139275.1'],
    [1_709_139_275_001, '1709139275.001'],
    [0, '0.0'],
  ])('of %d ms is %s seconds, always with a fraction.', (ms, text) => {
    expect(secondsText(ms)).toBe(text)
    expect(JSON.stringify({ at: seconds(ms) })).toBe(`{"at":${text}}`)
    expect(JSON.parse(text)).toBe(ms / 1000)
  })
})
