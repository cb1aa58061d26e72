// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { edit, type Mutant, simulation, test } from './mutant.ts'

const wakeups = test('test/proofs/consumer-simulation/lost-wakeup.test.ts')

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
        '  return nowMs < doneMs + WALK_EVERY_MS ? undefined : walkStart\n',
        '  return nowMs < doneMs || WALK_EVERY_MS > 0 ? undefined : walkStart\n',
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
    name: 'first-push-is-no-event',
    rule: 'the write that makes a queue with items is notable',
    edits: [edit('engine/store/append-update.ts', "  else stored.ev = 'y'\n", '')],
    killers: [simulation(200)],
  },
]
