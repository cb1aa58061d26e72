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
    [due, "times.from(schedule.missed === 'all' ? ms + 1 : Math.max(ms + 1, missedBeforeMs))",
     "times.from(schedule.missed === 'all' ? ms + 1 : Math.max(ms, missedBeforeMs))"],
    test(dueTest)),
  mutant('schedule-missed-though-it-waited', '0038: a full queue keeps the occurrence',
    [due, 'return retryAtMs === undefined ? times.from(missedBeforeMs) : nextMs',
     'return times.from(missedBeforeMs + 0 * (retryAtMs ?? 0))'], test(dueTest, 'waited for room')),
  mutant('schedule-full-by-what-is-remembered', 'rule 7: a refusal comes from a record that was read just now',
    [push, 'const current = await readRecord(engine, queue)\n  if (current === undefined',
     'const current = engine.memory.get(queue)\n  if (current === undefined'],
    test(whole, 'another process has emptied')),
  mutant('schedule-change-made-in-doubt-over-another', '0002: a lost answer is never guessed',
    [change, "if (now?.tag !== sent.before?.tag) return 'unknown'", ''], test(races, 'not known')),
  mutant('schedule-large-item-in-the-record', '0038: large items go by reference',
    [push, 'inline.bytes <= INLINE_BYTES_MAX ? inline', 'inline.bytes <= 1_000_000 * INLINE_BYTES_MAX ? inline'],
    test(whole, 'by reference')),
]
