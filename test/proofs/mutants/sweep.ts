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
    [sweep, 'dueQueues(engine, shards)', 'dueQueues(engine, allShards)'],
    test(sweepLoadTest),
  ),
  mutant(
    'dead-lane-that-cannot-move-stops-all',
    'a priority that fails is passed',
    ['engine/operations/move-lanes.ts', 'if (isOutage(error)) break', 'break'],
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
]
