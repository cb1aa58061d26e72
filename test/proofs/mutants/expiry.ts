import { type Mutant, mutant, simulation, test } from './mutant.ts'

const expiryTest = 'test/engine/expiry.test.ts'
const core = 'engine/core/expiry.ts'
const passOver = 'engine/operations/popping/pass-over.ts'
const forRoom = 'engine/operations/pushing/expire-for-room.ts'

/** Items that expire: never handed out after that, never lost before. */
// biome-ignore format: a mutant is a row
export const expiryMutants: readonly Mutant[] = [
  mutant('expired-handed-out-by-a-pop', '0040 whoever hands items out looks',
    ['engine/operations/popping/pop.ts', 'record.timed ?', 'record.timed === undefined ?'],
    test(expiryTest, 'by a pop'), simulation(300, 'expiring')),
  mutant('expired-handed-out-by-a-claim', '0040 a claim takes expired items out before it answers',
    ['engine/operations/popping/claim.ts', 'now.timed ? sortAll', 'now.timed === undefined ? sortAll'],
    test(expiryTest, 'by a claim')),
  mutant('expires-a-moment-late', '0040 from that moment on nobody gets it',
    [core, 'expiresAtMs <= nowMs', 'expiresAtMs < nowMs'], test(expiryTest, 'of whoever pops')),
  mutant('queue-time-later-than-the-item', '0040 the earlier of two times counts',
    [core, 'return Math.min(expiresAtMs', 'return Math.max(expiresAtMs'], test(expiryTest, 'own expiry')),
  mutant('passed-over-beyond-the-frontier', '§6.5 head ≤ frontier ≤ end',
    [core, 'const passed = passFrontier(record, over)', 'const passed = record'],
    test('test/engine/core/expiry.test.ts', 'leaves none'), simulation(300, 'expiring')),
  mutant('expired-counts-as-delivered', '0040 nobody had it',
    [core, 'bury(passed, over, REASON, 0)', 'bury(passed, over, REASON)'], test(expiryTest, 'no delivery')),
  mutant('expired-dead-letter-discarded', '0040 what expires goes where that is set',
    [core, "configuration.expired === 'dead_letter' && !isDeadLetterQueue(queue)", "configuration.expired === 'discard' && isDeadLetterQueue(queue)"],
    test(expiryTest, 'no delivery')),
  mutant('empty-before-the-end-of-the-expired', '§5.7 an "empty" is never guessed',
    [passOver, "kind: 'empty', more: true,", "kind: 'empty',"], test(expiryTest, 'no call endless')),
  mutant('acknowledged-before-the-last-write', '§6.6 a definite error changed nothing',
    [passOver, 'passOver(endExpired(record, nowMs), over)', 'passOver(plan.draft, over)'],
    test(expiryTest, 'acknowledges nothing')),
  mutant('a-run-goes-home-before-the-end', '0040 "more" is not "empty"',
    ['consumer/core/worker.ts', "popped.more ? 'further' : 'empty'", "popped.more ? 'empty' : 'empty'"],
    test('test/consumer/run.test.ts', 'behind expired')),
  mutant('error-after-a-claim-that-acknowledged', '§6.6 a definite error changed nothing',
    ['engine/operations/popping/pop.ts', 'throw passing.hasAcknowledged ? changedAllTheSame(error) : error', 'throw error'],
    test(expiryTest, 'says that this is unknown')),
  mutant('full-queue-keeps-what-has-expired', '0040 a full queue takes out what has expired',
    [forRoom, 'if (!record.timed) return false', 'if (record.timed) return false'],
    test(expiryTest, 'is at the front')),
  mutant('room-made-behind-what-lives', '§6.3 a pop never passes over a visible item',
    [forRoom, 'wanted: 0, passable', 'wanted: 100, passable'], test(expiryTest, 'lies behind an item')),
  mutant('redriven-is-over-at-once', '0040 a redriven item is as new',
    ['engine/operations/moving/redrive.ts', 'isOfUse ? { dueMs: engine.clock.nowMs() } : {}', '{}'],
    test(expiryTest, 'as if pushed then')),
  mutant('queue-time-without-the-mark', 'formats: an engine that does not know leaves it alone',
    ['engine/core/record.ts', 'timed: record.timed || configuration.itemTtlSeconds !== undefined,', ''],
    test(expiryTest, 'marks its record')),
  mutant('first-record-without-the-mark', 'formats: an engine that does not know leaves it alone',
    ['engine/store/append-update.ts', '|| configuration.itemTtlSeconds !== undefined', ''],
    test(expiryTest, 'of its prefix')),
  mutant('key-forgets-the-expiry', '§7 the same key with other items',
    ['engine/operations/pushing/calls.ts', ', ...expiryText(item)', ''],
    test(expiryTest, 'is the same push')),
]
