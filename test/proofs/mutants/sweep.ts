// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, simulation, test } from './mutant.ts'

const sweep = 'engine/operations/sweep.ts'
const onceUpdate = 'engine/store/once-update.ts'
const sweepLoadTest = 'test/engine/sweep-load.test.ts'

/** What must not hold up what: locks, priorities, places. */
export const sweepMutants: readonly Mutant[] = [
  mutant(
    'sweeper-waits-for-s3',
    'locks of all queues first',
    [
      sweep,
      'await Promise.race([all, timeIsUp])',
      `await all
    void timeIsUp`,
    ],
    test(sweepLoadTest),
  ),
  mutant(
    'sweeper-asks-a-store-that-hangs-again-and-again',
    'what hangs keeps its place',
    [sweep, 'inTime() && tidying.size < TIDIED_AT_ONCE', 'inTime()'],
    test(sweepLoadTest),
  ),
  mutant(
    'sweeper-visits-one-after-the-other',
    '20,000 queues a run',
    [sweep, 'const VISITS_AT_ONCE = 32', 'const VISITS_AT_ONCE = 1'],
    test(sweepLoadTest),
  ),
  mutant(
    'sweep-of-some-shards-sweeps-all',
    'shards are swept side by side',
    [
      'engine/operations/sweep.ts',
      'dueQueues(bounded, shards, mayGoOn)',
      'dueQueues(bounded, allShards, mayGoOn)',
    ],
    test(sweepLoadTest),
  ),
  mutant(
    'dead-lane-that-cannot-move-stops-all',
    'a priority that fails is passed',
    [
      'engine/operations/move-lanes.ts',
      'if (isOutage(error) || failures.size >= failuresMax) break',
      'break',
    ],
    test('test/engine/stuck-lanes.test.ts'),
  ),
  mutant(
    'transaction-entry-passes-twice',
    'an entry passes once',
    [
      onceUpdate,
      'NOT contains(u,${update.value(token)})',
      'NOT contains(u,${update.value(`${token}!`)})',
    ],
    simulation(300),
  ),
  mutant(
    'transaction-entry-of-forgotten-tokens-passes',
    'an entry passes once',
    [onceUpdate, '${update.value(kept + forgotten)}', '${update.value(kept + forgotten + 1_000)}'],
    test('test/engine/transact-item.test.ts', 'passes once'),
  ),
  mutant(
    'transaction-entry-passes-on-a-queue-made-anew',
    'an entry passes once',
    [
      onceUpdate,
      'update.condition(`born=${update.value(seen.born)}`) update.condition(`(attr',
      'update.condition(`(attr',
    ],
    test('test/engine/transact-item.test.ts', 'passes once'),
  ),
  mutant(
    'record-of-any-format-is-written',
    'a format that is not known is refused',
    ['engine/store/record-update.ts', 'update.condition(KNOWN_FORMAT)', ''],
    test('test/engine/formats.test.ts'),
  ),
  mutant(
    'recalled-row-that-begins-later',
    '§5.8 a reader finds the row that holds a number',
    [
      'engine/store/segments.ts',
      'afterRecalled(from), 1, false)',
      'afterRecalled(from - 1), 1, false)',
    ],
    test('test/engine/reading.test.ts'),
  ),
  mutant(
    'recalled-rows-stop-at-the-first',
    '§5.8 a reader finds all rows that are wanted',
    [
      'engine/store/segments.ts',
      'while (next < to && bytes < bytesMax) {',
      'while (next < to && bytes < 0) {',
    ],
    test('test/engine/reading.test.ts'),
    simulation(300),
  ),
  mutant(
    'throttled-record-stops-the-sweep',
    'one queue holds up no other',
    [
      'foundation/dynamo.ts',
      'if (!(error instanceof QueueError)) throw error',
      'if (left.length > 0) throw error',
    ],
    test('test/engine/sweep.test.ts'),
  ),
  mutant(
    'shard-that-fails-stops-the-sweep',
    'one shard holds up no other',
    [
      'engine/operations/due-queues.ts',
      "yield { kind: 'shard-unread', shard, error }",
      'throw error',
    ],
    test('test/engine/sweep.test.ts'),
  ),
  mutant(
    'lag-is-blind-to-what-is-not-served',
    'the lag tells of every queue that was met',
    [
      'engine/operations/sweep.ts',
      'report.lagMs = Math.max(report.lagMs, engine.clock.nowMs() - dueMs)',
      'void [engine, dueMs]',
    ],
    test('test/engine/sweep.test.ts'),
  ),
  mutant(
    'visit-goes-on-when-the-time-is-up',
    'a sweep ends in time',
    [
      'engine/operations/sweep.ts',
      'dynamo: engine.dynamo.until(deadlineMs)',
      'dynamo: engine.dynamo',
    ],
    test('test/engine/sweep.test.ts'),
  ),
  mutant(
    'time-that-is-up-is-a-failure',
    'a sweep ends in time',
    [
      'engine/operations/sweep-queue.ts',
      "if (nowMs >= deadlineMs) return { kind: 'answer', answer: 'locks' }",
      '',
    ],
    test('test/engine/sweep.test.ts'),
  ),
  mutant(
    'each-stuck-priority-costs-a-request',
    'what waits costs a call no more than one priority does',
    [
      'engine/operations/move-lanes.ts',
      'return (priority) => !target.lanes.has(priority)',
      'return (priority) => !target.lanes.has(priority) && priority < 0',
    ],
    test('test/engine/stuck-lanes.test.ts', 'cost a call'),
  ),
  mutant(
    'record-read-again-after-each-refusal',
    'a refusal changes nothing',
    ['engine/operations/move-lanes.ts', 'if (!hasLost) continue', 'void hasLost'],
    test('test/engine/stuck-lanes.test.ts', 'asks once for each'),
  ),
  mutant(
    'items-of-the-call-wait-for-their-turn',
    'a call moves its own items first',
    ['engine/operations/move-dead.ts', 'of [...first, ...all.slice', 'of [...all.slice'],
    test('test/engine/stuck-lanes.test.ts', 'own items first'),
  ),
  mutant(
    'stuck-priorities-tried-with-each-change',
    'while stuck, dead items are left to the timer',
    [
      'engine/operations/housekeep.ts',
      'leaveStuck && wasStuckLately(engine, queue)',
      'leaveStuck && wasStuckLately(engine, `${queue}!`)',
    ],
    test('test/engine/stuck-lanes.test.ts', 'left to the timer'),
  ),
  mutant(
    'one-priority-in-s3-stops-all',
    'a priority that fails is passed',
    [
      'engine/operations/move-lanes.ts',
      "codeOf(error) === 'STORE_UNAVAILABLE'",
      "codeOf(error) === 'STORE_UNAVAILABLE' || codeOf(error) === 'SEGMENT_UNAVAILABLE'",
    ],
    test('test/engine/stuck-lanes.test.ts', 'do not need it'),
  ),
  mutant(
    'each-priority-in-s3-is-asked-for',
    'a priority that fails is passed, and all that would meet the same',
    [
      'engine/operations/move-lanes.ts',
      'items.some((range) => isInS3(lane, range))',
      'items.every((range) => isInS3(lane, { ...range, to: range.from }))',
    ],
    test('test/engine/stuck-lanes.test.ts', 'a redrive moves the priorities'),
  ),
  mutant(
    'transaction-entries-remembered-without-bound',
    'the record bounds what it remembers',
    [
      'engine/store/once-update.ts',
      'size(u)<${update.value(TOKENS_MAX)}',
      'size(u)<${update.value(TOKENS_MAX * 100)}',
    ],
    test('test/engine/transact-item.test.ts', 'before any is used'),
  ),
  mutant(
    'transaction-entries-forgotten-in-one-update',
    '§10 expressions ≤ 4 KB',
    ['engine/core/limits.ts', 'TOKENS_PER_UPDATE = 200', 'TOKENS_PER_UPDATE = 20_000'],
    test('test/engine/transact-item.test.ts', 'an older version'),
  ),
]
