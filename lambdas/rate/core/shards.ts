import { fnv1a } from '../../foundation/fnv1a.ts'

/** The caller's shard: always the same one, so that a caller's requests stay in order. */
export const shardOfCaller = (caller: string, shards: number): number => fnv1a(caller) % shards

/** A shard's part of a limit. If the limit does not divide evenly, the first shards get one more. */
export const shareOf = (total: number, shards: number, shard: number): number =>
  Math.floor(total / shards) + (shard < total % shards ? 1 : 0)

/** All shards, beginning with this one. */
export const shardsFrom = (first: number, shards: number): number[] =>
  Array.from({ length: shards }, (_, i) => (first + i) % shards)
