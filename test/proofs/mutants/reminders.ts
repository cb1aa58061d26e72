// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { edit, type Mutant, simulation, test } from './mutant.ts'

const wakeups = test('test/proofs/consumer-simulation/lost-wakeup.test.ts')
const formats = test('test/engine/formats.test.ts')
const timers = test('test/engine/start-timers.test.ts')

/** Who wakes a consumer, and who comes when that was not heard. */
export const reminderMutants: readonly Mutant[] = [
  {
    name: 'lock-that-dies-frees-nobody',
    rule: 'a lock that ends unacknowledged is news to those behind it',
    edits: [
      edit(
        'engine/core/transitions.ts',
        '    if (endsUnacknowledged(lockId, after)) return true\n',
        '    void endsUnacknowledged\n',
      ),
    ],
    killers: [test('test/engine/core/transitions.test.ts'), wakeups],
  },
  {
    name: 'purged-lock-frees-nobody',
    rule: 'a lock that ends unacknowledged is news to those behind it',
    edits: [
      edit(
        'engine/core/marks.ts',
        "  after.ended.findLast((ended) => ended.lockId === lockId)?.ending !== 'acknowledged'\n",
        "  !['acknowledged', 'purged'].includes(\n    after.ended.findLast((ended) => ended.lockId === lockId)?.ending ?? '',\n  )\n",
      ),
    ],
    killers: [test('test/engine/core/transitions.test.ts')],
  },
  {
    name: 'append-starts-no-timer',
    rule: 'what waits has a timer',
    edits: [
      edit(
        'engine/store/append-update.ts',
        '  update.sets.push(`checkAt=if_not_exists(checkAt,${update.value(atMs)})`)\n',
        '',
      ),
    ],
    killers: [simulation(200)],
  },
  {
    name: 'first-push-starts-no-timer',
    rule: 'what waits has a timer',
    edits: [
      edit(
        'engine/store/append-update.ts',
        '  if (checkAtMs !== undefined) stored.checkAt = checkAtMs\n',
        '  if (checkAtMs !== undefined && append.items === 0) stored.checkAt = checkAtMs\n',
      ),
    ],
    killers: [simulation(200)],
  },
  {
    name: 'timer-taken-from-under-a-push',
    rule: 'what waits has a timer',
    edits: [
      edit(
        'engine/core/fence.ts',
        '(becomesDry || (dropsTimer && before.checkAtMs !== undefined)) &&',
        'becomesDry &&',
      ),
    ],
    killers: [test('test/engine/reminders.test.ts')],
  },
  {
    name: 'sweeper-forgets-items-that-wait',
    rule: 'what waits has a timer',
    edits: [
      edit('engine/core/fence.ts', '    remindAt(record, nowMs, refresh, remindAfterMs),\n', ''),
    ],
    killers: [simulation(600)],
  },
  {
    name: 'reminder-while-others-are-taken',
    rule: 'only what nobody takes is announced again',
    edits: [
      edit(
        'engine/core/reminder.ts',
        'reminder === undefined || reminder.taken !== taken',
        'reminder === undefined',
      ),
    ],
    killers: [simulation(600)],
  },
  {
    name: 'timer-stays-put-off-when-somebody-comes',
    rule: 'what waits is announced within two intervals',
    edits: [edit('engine/core/fence.ts', 'isMissing || isTakenSince(record)', 'isMissing')],
    killers: [test('test/engine/reminders.test.ts')],
  },
  {
    name: 'reminder-beside-a-lock',
    rule: 'a queue at work is not announced again',
    edits: [
      edit(
        'engine/core/reminder.ts',
        '  hasFree(record) && [...record.locks.values()].every(isDone)\n',
        '  hasFree(record) && record.locks.size >= 0 && isDone !== undefined\n',
      ),
    ],
    killers: [simulation(600)],
  },
  {
    name: 'reminder-is-not-notable',
    rule: 'every transition wakes the stream',
    edits: [
      edit(
        'engine/core/fence.ts',
        ' || isReminded(before, pruned),\n',
        ' || (isReminded(before, pruned) && false),\n',
      ),
    ],
    killers: [simulation(600)],
  },
  {
    name: 'reminder-that-nobody-announces',
    rule: 'who was not heard is announced again',
    edits: [
      edit(
        'engine/core/transitions.ts',
        'freesTheRest(before, after) || isReminded(before, after)',
        'freesTheRest(before, after) && isReminded !== undefined',
      ),
    ],
    killers: [test('test/engine/reminders.test.ts')],
  },
  {
    name: 'timers-are-started-once-and-never-again',
    rule: 'what an older engine pushed gets a timer within a day',
    edits: [
      edit(
        'engine/operations/start-timers.ts',
        '  return nowMs < againAtMs ? undefined : walkStart\n',
        '  return againAtMs > 0 ? undefined : walkStart\n',
      ),
    ],
    killers: [test('test/engine/start-timers.test.ts')],
  },
  {
    name: 'sweeper-asks-for-timers-once',
    rule: 'what an older engine pushed gets a timer within a day',
    edits: [
      edit(
        'background/sweep/sweeper.ts',
        'askAtMs = clock.nowMs() + ASK_EVERY_MS',
        'askAtMs = Number.POSITIVE_INFINITY * ASK_EVERY_MS',
      ),
    ],
    killers: [test('test/background/sweeper.test.ts')],
  },
  {
    name: 'record-that-cannot-be-read-stops-the-walk',
    rule: 'what cannot be read stands in nobody’s way',
    edits: [
      edit(
        'engine/operations/walk.ts',
        '      unread.push({ queue, error })\n',
        '      throw error\n',
      ),
    ],
    killers: [formats],
  },
  {
    name: 'record-that-cannot-be-read-empties-the-list',
    rule: 'what cannot be read stands in nobody’s way',
    edits: [
      edit(
        'engine/operations/list.ts',
        "    engine.onBackgroundError(error, { queue, step: 'list' })\n",
        '    throw error\n',
      ),
    ],
    killers: [formats],
  },
  {
    name: 'queue-that-is-passed-gets-no-other-walk',
    rule: 'what waits has a timer',
    edits: [
      edit(
        'engine/operations/start-timers.ts',
        'if (failed === 0) return',
        'if (failed >= 0) return',
      ),
    ],
    killers: [timers],
  },
  {
    name: 'queue-that-cannot-be-read-is-walked-to-again-and-again',
    rule: 'ever more seldom',
    edits: [edit('engine/operations/start-timers.ts', 'NEXT_WALK_MS * 2 ** walks', 'NEXT_WALK_MS')],
    killers: [timers],
  },
  {
    name: 'newer-format-blocks-the-stream',
    rule: 'what cannot be read stands in nobody’s way',
    edits: [
      edit(
        'background/announcements/announce-batch.ts',
        '      if (isFormatUnknown(error)) passed += 1\n      else failed.add(at)\n',
        '      if (isFormatUnknown(error)) passed += 1\n      failed.add(at)\n',
      ),
    ],
    killers: [test('test/background/announcements/newer-format.test.ts')],
  },
  {
    name: 'newer-format-blocks-housekeeping',
    rule: 'what cannot be read stands in nobody’s way',
    edits: [
      edit(
        'background/housekeeping/housekeep-batch.ts',
        '      else failed.add(queue)\n',
        '      failed.add(queue)\n',
      ),
    ],
    killers: [test('test/background/housekeep-batch.test.ts')],
  },
  {
    name: 'first-push-is-no-event',
    rule: 'the write that makes a queue with items is notable',
    edits: [edit('engine/store/append-update.ts', "  else stored.ev = 'y'\n", '')],
    killers: [simulation(200)],
  },
]
