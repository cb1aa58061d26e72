// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, simulation, test } from './mutant.ts'

const appendUpdate = 'engine/store/append-update.ts'
const fence = 'engine/core/fence.ts'

/** Who wakes a consumer, and who comes when that was not heard. */
export const reminderMutants: readonly Mutant[] = [
  mutant(
    'lock-that-dies-frees-nobody',
    'a lock that ends unacknowledged is news to those behind it',
    [
      'engine/core/transitions.ts',
      'if (endsUnacknowledged(lockId, after)) return true',
      'void endsUnacknowledged',
    ],
    test('test/engine/core/transitions.test.ts'),
    test('test/proofs/consumer-simulation/lost-wakeup.test.ts'),
  ),
  mutant(
    'purged-lock-frees-nobody',
    'a lock that ends unacknowledged is news to those behind it',
    [
      'engine/core/marks.ts',
      "after.ended.findLast((ended) => ended.lockId === lockId)?.ending !== 'acknowledged'",
      `!['acknowledged', 'purged'].includes(
  after.ended.findLast((ended) => ended.lockId === lockId)?.ending ?? '',
)`,
    ],
    test('test/engine/core/transitions.test.ts'),
  ),
  mutant(
    'append-starts-no-timer',
    'what waits has a timer',
    [appendUpdate, 'update.sets.push(`checkAt=if_not_exists(checkAt,${update.value(atMs)})`)', ''],
    simulation(200),
  ),
  mutant(
    'first-push-starts-no-timer',
    'what waits has a timer',
    [
      appendUpdate,
      'if (checkAtMs !== undefined) stored.checkAt = checkAtMs',
      'if (checkAtMs !== undefined && append.items === 0) stored.checkAt = checkAtMs',
    ],
    simulation(200),
  ),
  mutant(
    'timer-taken-from-under-a-push',
    'what waits has a timer',
    [fence, '(becomesDry || (dropsTimer && before.checkAtMs !== undefined)) &&', 'becomesDry &&'],
    test('test/engine/reminders.test.ts'),
  ),
  mutant(
    'sweeper-forgets-items-that-wait',
    'what waits has a timer',
    [fence, 'remindAt(record, nowMs, refresh, remindAfterMs),', ''],
    simulation(600),
  ),
  mutant(
    'reminder-while-others-are-taken',
    'only what nobody takes is announced again',
    [
      'engine/core/reminder.ts',
      'reminder === undefined || reminder.taken !== taken',
      'reminder === undefined',
    ],
    simulation(600),
  ),
  mutant(
    'reminder-beside-a-lock',
    'a queue at work is not announced again',
    [
      'engine/core/reminder.ts',
      'hasFree(record) && [...record.locks.values()].every(isDone)',
      'hasFree(record) && record.locks.size >= 0 && isDone !== undefined',
    ],
    simulation(600),
  ),
  mutant(
    'reminder-is-not-notable',
    'every transition wakes the stream',
    [fence, '|| isReminded(before, pruned),', '|| (isReminded(before, pruned) && false),'],
    simulation(600),
  ),
  mutant(
    'reminder-that-nobody-announces',
    'who was not heard is announced again',
    [
      'engine/core/transitions.ts',
      'freesTheRest(before, after) || isReminded(before, after)',
      'freesTheRest(before, after) && isReminded !== undefined',
    ],
    test('test/engine/reminders.test.ts'),
  ),
  mutant(
    'first-push-is-no-event',
    'the write that makes a queue with items is notable',
    [appendUpdate, "else stored.ev = 'y'", ''],
    simulation(200),
  ),
]
