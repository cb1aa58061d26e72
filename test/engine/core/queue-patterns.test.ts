import { expect, it } from 'vitest'
import {
  configurationBy,
  decodeConfiguration,
  defaultConfiguration,
  encodeConfiguration,
  noQueuePatterns,
  queuePatternsFrom,
  repatterned,
} from '../../../engine/core/settings.ts'
import { decodeQueuePatterns, encodeQueuePatterns } from '../../../engine/driver/queue-settings.ts'

const patterns = {
  revision: 3,
  patterns: queuePatternsFrom([
    { prefix: '', settings: { capacity: 7 } },
    {
      prefix: 'a.',
      settings: { maxDeliveries: 2, pushLimit: { maxRequests: 5, algorithm: 'smooth', burst: 2 } },
    },
  ]),
}

it('A queue has the settings of the longest prefix, and a dead-letter queue has none of them.', () => {
  expect(configurationBy(patterns, 'a.b')).toMatchObject({
    source: { from: 'pattern', prefix: 'a.' },
    maxDeliveries: 2,
  })
  expect(configurationBy(patterns, 'a.b')).not.toHaveProperty('capacity')
  expect(configurationBy(patterns, 'b')).toMatchObject({ capacity: 7 })
  expect(configurationBy(patterns, 'a.b-deadletter')).toBe(defaultConfiguration)
  expect(configurationBy(noQueuePatterns, 'a.b')).toBe(defaultConfiguration)
})

it('Patterns and configurations are read as they were written.', () => {
  const row = encodeQueuePatterns({ ...patterns, deployed: 'h', mark: 'abcdef' })
  expect(decodeQueuePatterns(row)).toEqual({
    ...patterns,
    deployed: 'h',
    mark: 'abcdef',
  })
  for (const queue of ['a.b', 'b']) {
    const configuration = configurationBy(patterns, queue)
    expect(decodeConfiguration(encodeConfiguration(configuration))).toEqual(configuration)
  }
})

it('A configuration from before there were patterns is the queue’s own.', () => {
  expect(decodeConfiguration({ v: 4, z: 10, b: 2 })).toEqual({
    revision: 4,
    source: { from: 'queue' },
    segmentSize: 10,
    bufferSegments: 2,
  })
})

it('A queue accepts other patterns, but no older ones, and none if it has its own settings.', () => {
  const older = { ...noQueuePatterns, revision: 2 }
  const newer = { ...noQueuePatterns, revision: 4 }
  const current = configurationBy(patterns, 'a.b')
  expect(repatterned(current, patterns, 'a.b')).toBeUndefined()
  expect(repatterned(current, { ...patterns, revision: 4 }, 'a.b')).toBeUndefined()
  expect(repatterned(current, older, 'a.b')).toBeUndefined()
  expect(repatterned(current, newer, 'a.b')).toEqual({
    ...defaultConfiguration,
    patternsRevision: 4,
  })
  expect(repatterned(defaultConfiguration, patterns, 'a.b')).toEqual(current)
  const own = { ...current, revision: 1, source: { from: 'queue' } as const }
  expect(repatterned(own, newer, 'a.b')).toBeUndefined()
})
