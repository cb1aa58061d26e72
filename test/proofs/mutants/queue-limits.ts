// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, simulation, test } from './mutant.ts'

const passLimit = 'engine/operations/pass-limit.ts'
const queueLimitsTest = 'test/engine/queue-limits.test.ts'

/** `push_limit` and `pop_limit`: every way round them, and what they must not cost. */
export const queueLimitMutants: readonly Mutant[] = [
  mutant(
    'append-of-a-cold-process-asks-for-no-limit',
    'nothing gets by a queue’s limit',
    [
      'engine/store/append-update.ts',
      "if (!admitted) update.condition('attribute_not_exists(cfg.pl)')",
      'void admitted',
    ],
    simulation(300, 'limited'),
  ),
  mutant(
    'claim-by-an-old-view-asks-for-no-limit',
    'nothing gets by a queue’s limit',
    [
      'engine/store/lock-updates.ts',
      "if (!admitted) update.condition('attribute_not_exists(cfg.ol)')",
      'void admitted',
    ],
    test(queueLimitsTest, 'A pop limit holds for all processes together, competing'),
  ),
  mutant(
    'push-that-knows-of-the-limit-goes-all-the-same',
    'nothing gets by a queue’s limit',
    [
      'engine/operations/append.ts',
      "from: 'recollection', attemptsMax: ATTEMPTS_MAX, limit }",
      "from: 'recollection', attemptsMax: ATTEMPTS_MAX, limit: { ...limit, hasSlot: true } }",
    ],
    simulation(300, 'limited'),
  ),
  mutant(
    'keyed-push-goes-without-a-slot',
    'nothing gets by a queue’s limit',
    [
      'engine/operations/push-once.ts',
      'pausesFrom: 2, limit }',
      'pausesFrom: 2, limit: { ...limit, hasSlot: true } }',
    ],
    test(queueLimitsTest, 'Idempotency-Key'),
  ),
  mutant(
    'transaction-goes-without-a-slot',
    'nothing gets by a queue’s limit',
    [
      'engine/operations/transact-item.ts',
      "await passLimit(engine, { verb: 'push', receivedMs: undefined }, record)",
      'true',
    ],
    test(queueLimitsTest, 'part of a transaction'),
  ),
  mutant(
    'pop-goes-without-a-slot',
    'nothing gets by a queue’s limit',
    ['engine/operations/pop.ts', "verb: 'pop', hasSlot: false,", "verb: 'pop', hasSlot: true,"],
    simulation(300, 'limited'),
  ),
  mutant(
    'wide-push-of-a-cold-process-asks-for-no-limit',
    'nothing gets by a queue’s limit',
    [
      'engine/operations/append.ts',
      "from: 'memory', attemptsMax: ATTEMPTS_MAX, limit }",
      "from: 'memory', attemptsMax: ATTEMPTS_MAX, limit: { ...limit, hasSlot: engine.memory.get(queue) === undefined } }",
    ],
    test(queueLimitsTest, '200 lanes'),
  ),
  mutant(
    'slot-counted-by-any-clock',
    'a clock far off the gateway’s is refused',
    ['rate/operations/guard.ts', '{ receivedMs }, settings', '{}, settings'],
    test(queueLimitsTest, 'A clock far off'),
  ),
  mutant(
    'old-limit-hands-its-rules-to-the-row',
    'a lowered limit holds for those who remember the one before',
    [
      'rate/operations/guard.ts',
      'revision, configured',
      `revision: 0,
configured`,
    ],
    test(queueLimitsTest, 'who remember the one before'),
  ),
  mutant(
    'limit-that-is-gone-denies-for-ever',
    'a changed limit is felt within ten seconds',
    [
      passLimit,
      'if (engine.clock.nowMs() - seenMs > LIMIT_TRUSTED_MS) {',
      'if (engine.clock.nowMs() - seenMs > LIMIT_TRUSTED_MS * 1_000) {',
    ],
    test(queueLimitsTest, 'raised or taken away'),
  ),
  mutant(
    'denial-looks-again-each-time',
    'a caller far above a limit costs nothing',
    [
      passLimit,
      'if (engine.clock.nowMs() - seenMs > LIMIT_TRUSTED_MS) {',
      'if (engine.clock.nowMs() - seenMs > LIMIT_TRUSTED_MS * 0 - 1) {',
    ],
    test(queueLimitsTest, 'denies from memory'),
  ),
  mutant(
    'lost-slot-told-as-a-push-in-doubt',
    'never lie',
    [
      passLimit,
      'if (!(error instanceof QueueError)) throw error',
      'if (error instanceof QueueError) throw error',
    ],
    test(queueLimitsTest, 'out of reach'),
  ),
  mutant(
    'batch-stored-before-the-limit-is-asked',
    'a caller far above a limit costs nothing',
    ['engine/operations/push.ts', 'await passKnownLimit(engine, queue, receivedMs)', 'false'],
    test(queueLimitsTest, 'denies from memory'),
  ),
  mutant(
    'dead-letters-held-up-by-a-limit',
    'what the service moves is no call',
    ['engine/store/append-update.ts', 'admitted = anyway,', 'admitted = false,'],
    test(queueLimitsTest, 'dead letters'),
  ),
]
