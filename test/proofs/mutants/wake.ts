// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, test } from './mutant.ts'

const awakeRow = 'engine/upkeep/wake.ts'
const awake = 'engine/upkeep/wake.ts'
const wake = 'engine/upkeep/wake.ts'
const dueQueues = 'engine/upkeep/due-queues.ts'
const sweepQueue = 'engine/upkeep/end-locks.ts'
const timers = 'engine/core/record.ts'
const timerUpdate = 'engine/requests/blind-updates.ts'
const awakeTest = 'test/engine/awake.test.ts'
const wakeTest = 'test/engine/wake.test.ts'
const fenceTest = 'test/engine/core/fence.test.ts'
const timerTest = 'test/engine/store/timer-update.test.ts'
const rule = '0035 what somebody waits for comes in time'

/** Which run is awake, for what, and until when. */
// biome-ignore format: a mutant is a row
export const wakeMutants: readonly Mutant[] = [
  mutant('wake-goes-home-with-a-note-unread', rule,
    [awakeRow, "stayMs === undefined ? 'attribute_not_exists(u)' : `u=${update.value(stayMs)}`",
     "'attribute_exists(h)'"], test(awakeTest)),
  mutant('wake-note-shortens-another', rule,
    [awakeRow, 'update.condition(`(attribute_not_exists(u) OR u<${stay})`)', ''], test(awakeTest)),
  mutant('wake-note-for-whoever-was-awake', rule,
    [awakeRow, 'const stay = update.value(stayMs) update.condition(`h=${update.value(holder)}`)',
     'const stay = update.value(stayMs)'], test(awakeTest)),
  mutant('wake-two-at-once', rule,
    [awakeRow, 'update.condition(`(attribute_not_exists(h) OR h=${mine} OR NOT ${lives} OR ${isOld})`)',
     'update.condition(`(attribute_not_exists(h) OR e<>${now} OR NOT ${lives} OR ${isOld} OR h=${mine})`)'],
    test(awakeTest)),
  mutant('wake-takes-a-lost-note-for-told', rule,
    [awake, "if (told.kind === 'unknown') return false", "if (told.kind === 'unknown') return true"],
    test(awakeTest)),
  mutant('wake-never-hands-over', rule,
    [[awakeRow, 'NOT ${lives} OR ${isOld})', 'NOT ${lives})'],
     [awakeRow, 'const isOld = `s<=${update.value(nowMs - termMs)}`', '']],
    test(wakeTest, 'in time')),
  mutant('wake-waits-for-the-lease-of-the-dead', rule,
    [awake, 'takesOver ? 0 : TERM_MS', 'TERM_MS'], test(awakeTest, 'takes over')),
  mutant('wake-goes-by-the-index-alone', rule,
    [wake, 'nextDueMs === undefined && !more && nowMs >= Math.max(stayMs, watch.stayMs)',
     'nextDueMs === undefined && !more'], test(wakeTest, 'index alone')),
  mutant('wake-sleeps-past-what-is-due', rule,
    [wake, 'Math.min(LOOK_EVERY_MS, Math.max(PAUSE_MS_MIN, untilNextMs))', '20 * LOOK_EVERY_MS'],
    test(wakeTest, 'in time')),
  mutant('wake-leaves-a-timer-that-another-write-held-up', rule,
    [wake, 'first: 1_000', 'first: 5_000'],
    test('test/engine/later-settling.test.ts', 'a moment after Wake has come')),
  mutant('sweep-does-not-look-ahead', rule,
    [dueQueues, "if (atMs !== undefined) yield { kind: 'next', atMs }", ''],
    test(wakeTest)),
  mutant('sweep-does-not-tell-of-timers-it-set', rule,
    [sweepQueue, 'comesDueIn(report, after, nowMs)', ''], test('test/engine/sweep.test.ts', 'tells')),
  mutant('reminders-keep-somebody-awake', '0035 idle costs nothing',
    [timers, 'atMs % 1 === 0.5', 'atMs < 0'], test(wakeTest, 'nobody takes')),
  mutant('patient-timer-hides-a-lock', rule,
    [timers, 'wanted.every(isPatient) ? earliest : asPrompt(earliest)', 'earliest'],
    test(fenceTest, 'hide')),
  mutant('housekeepings-timer-hides-a-lock', rule,
    [timerUpdate, 'const wantedMs = earliestOf([checkAtMs, atMs]) as number',
     'const wantedMs = checkAtMs !== undefined && atMs % 1 === 0.5 ? Math.min(checkAtMs, atMs) : earliestOf([checkAtMs, atMs]) as number'],
    test('test/engine/patient-timers.test.ts', 'hide the end of a lock'), test(timerTest, 'which would hide it')),
  mutant('extension-leaves-a-patient-timer', rule,
    [timerUpdate, 'const wantedMs = earliestOf([checkAtMs, atMs]) as number',
     'const wantedMs = (checkAtMs ?? atMs) < atMs ? checkAtMs as number : earliestOf([checkAtMs, atMs]) as number'],
    test(timerTest)),
  mutant('timer-stays-near-once-it-is-far', rule,
    [timerUpdate, "else update.removes.push('wk')", ''], test(timerTest)),
]
