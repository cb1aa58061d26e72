// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { edit, type Mutant, simulation, test } from './mutant.ts'

const load = test('test/engine/sweep-load.test.ts')
const sweep = test('test/engine/sweep.test.ts')

/** What must not hold up what: locks, priorities, places. */
export const sweepMutants: readonly Mutant[] = [
  {
    name: 'sweeper-waits-for-s3',
    rule: 'locks of all queues first',
    edits: [
      edit(
        'engine/operations/sweep.ts',
        'await Promise.race([all, timeIsUp])',
        'await all\n    void timeIsUp',
      ),
    ],
    killers: [load],
  },
  {
    name: 'sweeper-asks-a-store-that-hangs-again-and-again',
    rule: 'what hangs keeps its place',
    edits: [
      edit('engine/operations/sweep.ts', 'inTime() && tidying.size < TIDIED_AT_ONCE', 'inTime()'),
    ],
    killers: [load],
  },
  {
    name: 'sweeper-visits-one-after-the-other',
    rule: '20,000 queues a run',
    edits: [
      edit('engine/operations/sweep.ts', 'const VISITS_AT_ONCE = 32', 'const VISITS_AT_ONCE = 1'),
    ],
    killers: [load],
  },
  {
    name: 'sweep-of-some-shards-sweeps-all',
    rule: 'shards are swept side by side',
    edits: [
      edit(
        'engine/operations/sweep.ts',
        'dueQueues(bounded, shards, mayGoOn)',
        'dueQueues(bounded, allShards, mayGoOn)',
      ),
    ],
    killers: [load],
  },
  {
    name: 'throttled-record-stops-the-sweep',
    rule: 'one queue holds up no other',
    edits: [
      edit(
        'foundation/dynamo.ts',
        '      if (!(error instanceof QueueError)) throw error\n',
        '      if (left.length > 0) throw error\n',
      ),
    ],
    killers: [sweep],
  },
  {
    name: 'shard-that-fails-stops-the-sweep',
    rule: 'one shard holds up no other',
    edits: [
      edit(
        'engine/operations/due-queues.ts',
        "        yield { kind: 'shard-unread', shard, error }\n",
        '        throw error\n',
      ),
    ],
    killers: [sweep],
  },
  {
    name: 'lag-is-blind-to-what-is-not-served',
    rule: 'the lag tells of every queue that was met',
    edits: [
      edit(
        'engine/operations/sweep.ts',
        '  report.lagMs = Math.max(report.lagMs, engine.clock.nowMs() - dueMs)\n',
        '  void [engine, dueMs]\n',
      ),
    ],
    killers: [sweep],
  },
  {
    name: 'visit-goes-on-when-the-time-is-up',
    rule: 'a sweep ends in time',
    edits: [
      edit(
        'engine/operations/sweep.ts',
        'dynamo: engine.dynamo.until(deadlineMs)',
        'dynamo: engine.dynamo',
      ),
    ],
    killers: [sweep],
  },
  {
    name: 'time-that-is-up-is-a-failure',
    rule: 'a sweep ends in time',
    edits: [
      edit('engine/operations/sweep-queue.ts', "    if (nowMs >= deadlineMs) return 'locks'\n", ''),
    ],
    killers: [sweep],
  },
  {
    name: 'dead-lane-that-cannot-move-stops-all',
    rule: 'a priority that fails is passed',
    edits: [
      edit(
        'engine/operations/move-lanes.ts',
        '      if (isOutage(error) || failures.size >= failuresMax) break\n',
        '      break\n',
      ),
    ],
    killers: [test('test/engine/stuck-lanes.test.ts')],
  },
  {
    name: 'each-stuck-priority-costs-a-request',
    rule: 'what waits costs a call no more than one priority does',
    edits: [
      edit(
        'engine/operations/move-lanes.ts',
        '  return (priority) => !target.lanes.has(priority)\n',
        '  return (priority) => !target.lanes.has(priority) && priority < 0\n',
      ),
    ],
    killers: [test('test/engine/stuck-lanes.test.ts', 'cost a call')],
  },
  {
    name: 'record-read-again-after-each-refusal',
    rule: 'a refusal changes nothing',
    edits: [
      edit(
        'engine/operations/move-lanes.ts',
        '      if (!hasLost) continue\n',
        '      void hasLost\n',
      ),
    ],
    killers: [test('test/engine/stuck-lanes.test.ts', 'asks once for each')],
  },
  {
    name: 'items-of-the-call-wait-for-their-turn',
    rule: 'a call moves its own items first',
    edits: [
      edit('engine/operations/move-dead.ts', 'of [...first, ...all.slice', 'of [...all.slice'),
    ],
    killers: [test('test/engine/stuck-lanes.test.ts', 'own items first')],
  },
  {
    name: 'stuck-priorities-tried-with-each-change',
    rule: 'while stuck, dead items are left to the timer',
    edits: [
      edit(
        'engine/operations/housekeep.ts',
        'leaveStuck && wasStuckLately(engine, queue)',
        'leaveStuck && wasStuckLately(engine, `${queue}!`)',
      ),
    ],
    killers: [test('test/engine/stuck-lanes.test.ts', 'left to the timer')],
  },
  {
    name: 'one-priority-in-s3-stops-all',
    rule: 'a priority that fails is passed',
    edits: [
      edit(
        'engine/operations/move-lanes.ts',
        "codeOf(error) === 'STORE_UNAVAILABLE'",
        "codeOf(error) === 'STORE_UNAVAILABLE' || codeOf(error) === 'SEGMENT_UNAVAILABLE'",
      ),
    ],
    killers: [test('test/engine/stuck-lanes.test.ts', 'do not need it')],
  },
  {
    name: 'each-priority-in-s3-is-asked-for',
    rule: 'a priority that fails is passed, and all that would meet the same',
    edits: [
      edit(
        'engine/operations/move-lanes.ts',
        'items.some((range) => isInS3(lane, range))',
        'items.every((range) => isInS3(lane, { ...range, to: range.from }))',
      ),
    ],
    killers: [test('test/engine/stuck-lanes.test.ts', 'a redrive moves the priorities')],
  },
  {
    name: 'transaction-entry-passes-twice',
    rule: 'an entry passes once',
    edits: [
      edit(
        'engine/store/once-update.ts',
        'NOT contains(u,${update.value(token)})',
        'NOT contains(u,${update.value(`${token}!`)})',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'transaction-entry-of-forgotten-tokens-passes',
    rule: 'an entry passes once',
    edits: [
      edit(
        'engine/store/once-update.ts',
        '${update.value(kept + forgotten)}',
        '${update.value(kept + forgotten + 1_000)}',
      ),
    ],
    killers: [test('test/engine/transact-item.test.ts', 'passes once')],
  },
  {
    name: 'transaction-entry-passes-on-a-queue-made-anew',
    rule: 'an entry passes once',
    edits: [
      edit(
        'engine/store/once-update.ts',
        '  update.condition(`born=${update.value(seen.born)}`)\n  update.condition(`(attr',
        '  update.condition(`(attr',
      ),
    ],
    killers: [test('test/engine/transact-item.test.ts', 'passes once')],
  },
  {
    name: 'transaction-entries-remembered-without-bound',
    rule: 'the record bounds what it remembers',
    edits: [
      edit(
        'engine/store/once-update.ts',
        'size(u)<${update.value(TOKENS_MAX)}',
        'size(u)<${update.value(TOKENS_MAX * 100)}',
      ),
    ],
    killers: [test('test/engine/transact-item.test.ts', 'before any is used')],
  },
  {
    name: 'transaction-entries-forgotten-in-one-update',
    rule: '§10 expressions ≤ 4 KB',
    edits: [edit('engine/core/limits.ts', 'TOKENS_PER_UPDATE = 200', 'TOKENS_PER_UPDATE = 20_000')],
    killers: [test('test/engine/transact-item.test.ts', 'an older version')],
  },
  {
    name: 'record-of-any-format-is-written',
    rule: 'a format that is not known is refused',
    edits: [edit('engine/store/record-update.ts', '  update.condition(KNOWN_FORMAT)\n', '')],
    killers: [test('test/engine/formats.test.ts')],
  },
  {
    name: 'recalled-row-that-begins-later',
    rule: '§5.8 a reader finds the row that holds a number',
    edits: [
      edit(
        'engine/store/segments.ts',
        'afterRecalled(from), 1, false)',
        'afterRecalled(from - 1), 1, false)',
      ),
    ],
    killers: [test('test/engine/reading.test.ts')],
  },
  {
    name: 'recalled-rows-stop-at-the-first',
    rule: '§5.8 a reader finds all rows that are wanted',
    edits: [
      edit(
        'engine/store/segments.ts',
        'while (next < to && bytes < bytesMax) {',
        'while (next < to && bytes < 0) {',
      ),
    ],
    killers: [test('test/engine/reading.test.ts'), simulation(300)],
  },
]
