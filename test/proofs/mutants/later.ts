// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, test } from './mutant.ts'

const later = 'test/engine/later.test.ts'
const byIdTest = 'test/engine/later-by-id.test.ts'
const laterSimulation = 'test/proofs/later-simulation/later-simulation.test.ts'
const scheduled = 'engine/core/scheduled.ts'
const updates = 'engine/store/scheduled-updates.ts'
const coreJoin = 'engine/core/join.ts'
const join = 'engine/operations/later/join.ts'
const seal = 'engine/operations/later/seal-later.ts'

/** Items for later: never early, never lost, never twice. */
// biome-ignore format: a mutant is a row
export const laterMutants: readonly Mutant[] = [
  mutant('later-due-a-millisecond-early', '0039 never early',
    [scheduled, '1_000 * due <= nowMs', '1_000 * due <= nowMs + 1'],
    test(later, 'until its second has begun')),
  mutant('later-due-second-rounded-down', '0039 never early',
    ['engine/core/push-request.ts', 'Math.ceil(dueMs / 1_000)', 'Math.floor(dueMs / 1_000)'],
    test(laterSimulation)),
  mutant('later-rows-that-have-joined-join-again', '0039 rows up to a mark have joined',
    [join, 'found.rows.filter(({ sk }) => sk > joinedTo)', 'found.rows.filter(({ sk }) => sk !== joinedTo)'],
    test(later, 'may die after the write'), test(laterSimulation)),
  mutant('later-stale-joiner-passes', '0039 nobody else has taken any',
    [updates, 'unchanged(update, scheduled.changes) for', 'for'],
    test(later, 'was frozen while another did'), test(laterSimulation)),
  mutant('later-seal-without-a-row', '0039 rows and the cut are one transaction',
    [seal, '...rows.map((row) =>', '...rows.slice(1).map((row) =>'],
    test(later, 'come in the order of their times')),
  mutant('later-timer-not-lowered', '0039 what is due has its timer',
    [updates, 'setCheckAt(update, asPrompt(Math.min(atMs, orAtMs)), nowMs)', ''],
    test(later, 'is announced when the sweeper')),
  mutant('later-timer-put-off-past-what-is-scheduled', '0039 what is due has its timer',
    ['engine/core/fence.ts', 'scheduled: refreshCheckAt && after.checkAtMs !== before.checkAtMs', 'scheduled: false'],
    test(later, 'is not put off past')),
  mutant('later-join-over-the-capacity', '0039 a full queue keeps it waiting',
    [[coreJoin, 'if (items + count > record.room) {', 'if (items + count > 1_000_000) {'],
     [join, 'admitted: true,', 'admitted: true, anyway: true,']],
    test(later, 'wait while the queue is full')),
  mutant('later-rows-behind-the-page-are-forgotten', '0039 the earliest row is never later than the truth',
    [coreJoin, 'return more ? rows.at(-1)?.due : undefined', 'return undefined'],
    test(later, 'is due while there is more')),
  mutant('later-queue-forgotten-with-what-is-scheduled', '0039 never lost',
    ['engine/core/fence.ts', 'record.locks.size > 0 || record.scheduled.items > 0', 'record.locks.size > 0'],
    test(later, 'counts as scheduled')),
  mutant('later-cancelled-item-stays-in-its-row', '0039 a cancelled item is in no pop',
    ['engine/core/take-scheduled.ts', 'list.entries[place.place] = isGone ? undefined : encodeScheduled(left)', ''],
    test(laterSimulation)),
  mutant('later-gone-by-a-record-that-is-old', '0039 what was not found is not there',
    ['engine/operations/later/take-scheduled.ts', 'if (await isStill(engine, record)) return results', 'return results'],
    test(byIdTest, 'is not called gone while it goes back')),
  mutant('later-moved-beside-a-join', '0039 nobody else has taken any',
    [updates, 'export function take(update: Expression, scheduled: Scheduled, taken: Taken): void {\n  unchanged(update, scheduled.changes)',
     'export function take(update: Expression, _scheduled: Scheduled, taken: Taken): void {'],
    test(byIdTest, 'agrees with a join')),
  mutant('later-moved-to-a-queue-that-is-forgotten', '0039 never lost',
    ['engine/operations/later/place-scheduled.ts', "update.add('a', 1)", ''],
    test(byIdTest, 'keeps the other queue from being forgotten')),
  mutant('later-cancelled-twice', '0039 each id is answered for itself',
    ['engine/operations/later/take-scheduled.ts', '.filter((one) => indexesLeft(entryOf(record.scheduled, one)).includes(one.wanted.index))', ''],
    test(byIdTest, 'that was cancelled is gone for a move to where it was')),
  mutant('later-seal-of-what-came-after-its-rows-joined', '0039 rows up to a mark have joined',
    ['engine/store/scheduled-rows.ts', 'if (due <= joined) continue', ''],
    test(later, 'by a clock that is ahead')),
]
