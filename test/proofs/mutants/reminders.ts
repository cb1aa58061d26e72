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
      edit('engine/operations/start-timers.ts', '(failed === 0 || walks', '(failed >= 0 || walks'),
    ],
    killers: [timers],
  },
  {
    name: 'queue-that-cannot-be-read-is-walked-to-for-ever',
    rule: 'a walk comes to an end',
    edits: [edit('engine/operations/start-timers.ts', 'WALKS_MAX = 8', 'WALKS_MAX = 8_000')],
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
