import { patternsWalkKey } from '../../engine/core/keys.ts'
import { SHARDS } from '../../engine/core/limits.ts'
import type { QueueRecord } from '../../engine/core/record.ts'
import { type QueuePatterns, repatterned } from '../../engine/core/settings.ts'
import type { Engine } from '../../engine/driver/engine.ts'
import { readQueuePatterns } from '../../engine/driver/queue-settings.ts'
import type { PatternsWalk } from '../../engine/upkeep/apply-patterns.ts'
import { decodePatternsWalk } from '../../engine/upkeep/apply-patterns.ts'
import type { Finding } from './finding.ts'

/** The sweeper comes each minute; a walk of very many queues takes several of its runs. */
const LATE_MS = 3_600_000

/** The settings of prefixes, and the walk that brings them to the queues that are there. */
export async function checkPatterns(engine: Engine, record: QueueRecord): Promise<Finding[]> {
  const patterns = await readQueuePatterns(engine)
  // Read it after the patterns, because a change asks for its walk in the same transaction.
  const walk = decodePatternsWalk(await engine.dynamo.get(patternsWalkKey, true))
  const sentences = [...wrongWalk(walk, patterns, Date.now())]
  const isOver = walk.asked === walk.noted && walk.underWay === undefined && walk.walks > 0
  const { queue, configuration } = record
  if (isOver && repatterned(configuration, patterns, queue) !== undefined) {
    sentences.push('it has no settings of its own, and not those of its prefix')
  }
  return sentences.map((sentence) => ({ kind: 'record', sentence }))
}

export function* wrongWalk(
  { asked, noted, beginMs, underWay }: PatternsWalk,
  { patterns }: Pick<QueuePatterns, 'patterns'>,
  nowMs: number,
): Generator<string> {
  if (noted > asked)
    yield `the walk of the patterns notes ${noted} changes, and there were ${asked}`
  if (patterns.length > 0 && asked === noted && beginMs === undefined && underWay === undefined) {
    yield 'there are settings of prefixes, and no walk will bring them to the queues'
  }
  if (underWay !== undefined && !(underWay.place.shard >= 0 && underWay.place.shard < SHARDS)) {
    yield `the walk of the patterns is in shard ${underWay.place.shard} of ${SHARDS}`
  }
  const dueMs = underWay?.startedMs ?? beginMs
  if (dueMs !== undefined && dueMs + LATE_MS < nowMs) {
    yield 'the walk of the patterns should have ended long ago: does the sweeper run?'
  }
}
