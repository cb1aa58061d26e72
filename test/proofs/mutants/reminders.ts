// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, simulation, test } from './mutant.ts'

const transitions = 'engine/core/transitions.ts'
const appendUpdate = 'engine/store/append-update.ts'
const fence = 'engine/core/fence.ts'
const reminder = 'engine/core/reminder.ts'
const startTimers = 'engine/operations/sweeping/start-timers.ts'
const transitionsTest = 'test/engine/core/transitions.test.ts'
const remindersTest = 'test/engine/reminders.test.ts'
const startTimersTest = 'test/engine/start-timers.test.ts'
const formatsTest = 'test/engine/formats.test.ts'

/** Who wakes a consumer, and who comes when that was not heard. */
// biome-ignore format: a mutant is a row
export const reminderMutants: readonly Mutant[] = [
  mutant('lock-that-dies-frees-nobody',
    'a lock that ends unacknowledged is news to those behind it',
    [transitions,
      'if (live.some(([lockId, lock]) => endsUnacknowledged(lockId, lock, after, worked))) return true',
      'void [endsUnacknowledged, worked]'],
    test(transitionsTest), simulation(500, 'consumed')),
  mutant('purged-lock-frees-nobody', 'a lock that ends unacknowledged is news to those behind it',
    ['engine/core/flags.ts',
     "after.ended.findLast((ended) => ended.lockId === lockId)?.ending !== 'acknowledged'",
     `!['acknowledged', 'purged'].includes(
  after.ended.findLast((ended) => ended.lockId === lockId)?.ending ?? '',
)`], test(transitionsTest)),
  mutant('append-starts-no-timer', 'what waits has a timer',
    [appendUpdate, 'update.sets.push(`checkAt=if_not_exists(checkAt,${update.value(atMs)})`)', ''],
    simulation(200)),
  mutant('first-push-starts-no-timer', 'what waits has a timer',
    [appendUpdate,
     'if (checkAtMs !== undefined) stored.checkAt = checkAtMs',
     'if (checkAtMs !== undefined && append.items === 0) stored.checkAt = checkAtMs'],
    simulation(200)),
  mutant('timer-taken-from-under-a-push', 'what waits has a timer',
    [fence, 'becomesDry || (dropsTimer && before.checkAtMs !== undefined) ||', 'becomesDry ||'],
    test(remindersTest)),
  mutant('sweeper-forgets-items-that-wait', 'what waits has a timer',
    [fence, 'remindAt(record, nowMs, refresh, remindAfterMs),', ''], simulation(600)),
  mutant('reminder-while-others-are-taken', 'only what nobody takes is announced again',
    [reminder, 'reminder === undefined || reminder.taken !== taken', 'reminder === undefined'],
    simulation(600)),
  mutant('reminder-beside-a-lock', 'a queue at work is not announced again',
    [reminder,
     'isDone(lock) || isRetry(id)',
     'id !== undefined || isDone(lock) || isRetry(id)'], simulation(600)),
  mutant('reminder-is-not-notable', 'every transition wakes the stream',
    [fence, '|| isReminded(before, pruned),', '|| (isReminded(before, pruned) && false),'],
    simulation(600)),
  mutant('reminder-that-nobody-announces', 'who was not heard is announced again',
    [transitions,
     'freesTheRest(before, after) || isReminded(before, after)',
     '(freesTheRest(before, after) && isReminded !== undefined)'], test(remindersTest)),
  mutant('callers-taken-for-consumers', 'a lock of a live caller is not ended',
    ['engine/core/locks.ts', '&& lockId.startsWith(CONSUMERS_LOCK)', ''],
    test('test/engine/announce-waiting.test.ts')),
  mutant('announcing-leaves-expired-locks', 'what waits is announced when somebody asks for it',
    ['engine/operations/sweeping/announce-waiting.ts', 'hasAny(after, over) ? again(asStored(after)) : done(waits)',
     'done(waits)'],
    test('test/engine/announce-waiting.test.ts')),
  mutant('first-push-is-no-event', 'the write that makes a queue with items is notable',
    [appendUpdate, "else stored.ev = 'y'", ''], simulation(200)),
  mutant('timer-stays-put-off-when-somebody-comes', 'what waits is announced within two intervals',
    [fence, 'isMissing || isTakenSince(record)', 'isMissing'], test(remindersTest)),
  mutant('timers-are-started-once-and-never-again',
    'what an older engine pushed gets a timer within a day',
    [startTimers,
     'return nowMs < againAtMs ? undefined : walkStart',
     'return againAtMs > 0 ? undefined : walkStart'], test(startTimersTest)),
  mutant('sweeper-asks-for-timers-once', 'what an older engine pushed gets a timer within a day',
    ['background/sweep/sweeper.ts',
     'askAtMs = clock.nowMs() + ASK_EVERY_MS',
     'askAtMs = Number.POSITIVE_INFINITY * ASK_EVERY_MS'],
    test('test/background/sweeper.test.ts')),
  mutant('record-that-cannot-be-read-stops-the-walk', 'what cannot be read stands in nobody’s way',
    ['engine/operations/looking/walk.ts', 'unread.push({ queue, error })', 'throw error'],
    test(formatsTest)),
  mutant('record-that-cannot-be-read-empties-the-list',
    'what cannot be read stands in nobody’s way',
    ['engine/operations/looking/list.ts',
     "engine.onBackgroundError(error, { queue, step: 'list' })",
     'throw error'], test(formatsTest)),
  mutant('queue-that-is-passed-gets-no-other-walk', 'what waits has a timer',
    [startTimers, 'if (failed === 0) return', 'if (failed >= 0) return'], test(startTimersTest)),
  mutant('queue-that-cannot-be-read-is-walked-to-again-and-again', 'ever more seldom',
    [startTimers, 'NEXT_WALK_MS * 2 ** walks', 'NEXT_WALK_MS'], test(startTimersTest)),
  mutant('newer-format-blocks-the-stream', 'what cannot be read stands in nobody’s way',
    ['background/announcements/announce-batch.ts',
     'if (isFormatUnknown(error)) passed += 1 else failed.add(at)',
     `if (isFormatUnknown(error)) passed += 1
failed.add(at)`], test('test/background/announcements/newer-format.test.ts')),
  mutant('newer-format-blocks-housekeeping', 'what cannot be read stands in nobody’s way',
    ['background/housekeeping/housekeep-batch.ts', 'else failed.add(queue)', 'failed.add(queue)'],
    test('test/background/housekeep-batch.test.ts')),
]
