import { type Mutant, mutant, test } from './mutant.ts'

const due = 'engine/core/due-occurrences.ts'
const push = 'engine/operations/scheduling/push-due.ts'
const change = 'engine/operations/scheduling/change-schedule.ts'
const rows = 'engine/store/schedule-rows.ts'
const dueTest = 'test/engine/schedules/due-occurrences.test.ts'
const races = 'test/engine/schedules/races.test.ts'
const whole = 'test/engine/schedules/schedules.test.ts'
const seeds = 'test/proofs/schedule-simulation/schedule-simulation.test.ts'

/** Each occurrence once. */
// biome-ignore format: a mutant is a row
export const scheduleMutants: readonly Mutant[] = [
  mutant('schedule-occurrence-twice', '0038: the row moves on only as it was seen',
    [rows, "ConditionExpression: 'm=:m AND v=:v'", "ConditionExpression: 'm=:m AND :v=:v'"],
    test(races, 'two sweepers'), test(seeds)),
  mutant('schedule-occurrence-over-a-change', '0038: a schedule that was put anew is another',
    [rows, "ConditionExpression: 'm=:m AND v=:v'", "ConditionExpression: ':m=:m AND v=:v'"],
    test(races, 'deleted and made again')),
  mutant('schedule-occurrence-without-its-item', '0038: the move and the append are one',
    [push, 'if (addition !== undefined) TransactItems.push(appendTo(engine, queue, addition))',
     'if (addition === undefined) TransactItems.push(appendTo(engine, queue, addition as never))'],
    test(whole, 'byte for byte')),
  mutant('schedule-occurrence-too-early', '0038: nothing is pushed before its time',
    [due, 'nextMs <= nowMs && (retryAtMs', 'nextMs <= nowMs + 60_000 && (retryAtMs'],
    test(dueTest, 'before its time')),
  mutant('schedule-next-occurrence-stays', '0038: every occurrence is later than the one before',
    [due, 'dues.push(next)\n    next = times.from(next + 1)\n  }\n  return', 'dues.push(next)\n    next = times.from(next + 2_000) && next\n  }\n  return'],
    test(dueTest)),
  mutant('schedule-put-loses-what-is-due', '0038: a change of times keeps the occurrence that both have',
    [change, 'times.from(before.nextMs) === before.nextMs)', 'times.from(before.nextMs) === -1)'],
    test('test/engine/schedules/put-again.test.ts', 'if the new times have it too')),
  mutant('schedule-put-pushes-again', '0038: every occurrence is later than the one before',
    [change, 'times.from(Math.max(nowMs, before?.lastMs ?? 0) + 1)', 'times.from(Math.max(nowMs, 0) + 1)'],
    test('test/engine/schedules/put-again.test.ts', 'whose clock is ahead')),
  mutant('schedule-made-again-though-deleted', '0002: a lost answer is never guessed',
    [change, "if (now === undefined) return 'unknown'", ''], test(races, 'does not make it again')),
  mutant('schedule-near-and-nobody-told', '0035: the stream announces a timer that becomes near',
    ['engine/core/stored-schedule.ts', "wk: isNear(checkAt, nowMs) ? ('y' as const) : undefined", 'wk: undefined'],
    test('test/engine/schedules/wake.test.ts')),
  mutant('wake-visits-one-schedule-of-a-queue', '0035: each timer is visited for itself',
    ['engine/operations/sweeping/wake.ts', 'placeOf(timer)', 'timer.pk'],
    test('test/engine/schedules/wake.test.ts', 'at the same moment')),
  mutant('schedule-missed-though-it-waited', '0038: a full queue keeps the occurrence',
    [due, 'if (schedule.retryAtMs !== undefined) {', 'if (schedule.retryAtMs === -1) {'], test(dueTest, 'waited for room')),
  mutant('schedule-full-by-what-is-remembered', 'rule 7: a refusal comes from a record that was read just now',
    [push, 'const current = await readRecord(engine, queue)', 'const current = engine.memory.get(queue) ?? record'],
    test(whole, 'another process has emptied')),
  mutant('schedule-change-made-in-doubt-over-another', '0002: a lost answer is never guessed',
    [change, "if (now?.tag !== sent.before?.tag) return 'unknown'", ''], test(races, 'unknown outcome')),
  mutant('schedule-large-item-in-the-record', '0038: large items go by reference',
    [push, 'inline.bytes <= INLINE_BYTES_MAX ? inline', 'inline.bytes <= 1_000_000 * INLINE_BYTES_MAX ? inline'],
    test(whole, 'by reference')),
]
