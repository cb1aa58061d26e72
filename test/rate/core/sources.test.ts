import { expect, it } from 'vitest'
import { SHARDS_MAX, shardOfCaller } from '../../../rate/core/settings.ts'
import { fnv1a } from '../../../shared/system.ts'

/** The figures of gocc-architecture.txt that are about sharding. */

it('There are 25 shards at most, chosen by FNV-1a.', () => {
  expect(SHARDS_MAX).toBe(25)
  // The published test vectors of the hash.
  expect(fnv1a('')).toBe(0x811c9dc5)
  expect(fnv1a('a')).toBe(0xe40c292c)
  expect(fnv1a('foobar')).toBe(0xbf9cf968)
})

it('The sources’ example is drawn, not reckoned: "user-123" is on shard 3 of 25.', () => {
  // They write 0x7a3b2c1d and 12; FNV-1a gives another hash, and their own modulo 25 would be 19.
  expect(fnv1a('user-123')).toBe(0x8c93cc93)
  expect(0x7a3b2c1d % 25).toBe(19)
  expect(shardOfCaller('user-123', 25)).toBe(3)
})

it('A key is always on the same shard, and keys of one prefix spread.', () => {
  const shards = Array.from({ length: 1_000 }, (_, i) => shardOfCaller(`user-${i}`, 25))
  expect(shards).toEqual(Array.from({ length: 1_000 }, (_, i) => shardOfCaller(`user-${i}`, 25)))
  const counts = new Map<number, number>()
  for (const shard of shards) counts.set(shard, (counts.get(shard) ?? 0) + 1)
  expect(counts.size).toBe(25)
  expect(Math.max(...counts.values())).toBeLessThan(80)
})
