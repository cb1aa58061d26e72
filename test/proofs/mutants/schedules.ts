import { type Mutant, mutant, test } from './mutant.ts'

const due = 'engine/core/due-occurrences.ts'
const push = 'engine/operations/scheduling/push-due.ts'
const change = 'engine/operations/scheduling/change-schedule.ts'
const written = 'engine/operations/scheduling/write-schedule.ts'
const deploy = 'engine/operations/scheduling/deploy-schedules.ts'
const deployedRow = 'engine/store/deployed-schedules-row.ts'
const deployed = 'test/engine/schedules/deployed.test.ts'
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
    [written, "if (now === undefined) return 'unknown'", ''], test(races, 'does not make it again')),
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
    [written, "if (now?.tag !== sent.before?.tag) return 'unknown'", ''], test(races, 'unknown outcome')),
  mutant('schedule-large-item-in-the-record', '0038: large items go by reference',
    [push, 'inline.bytes <= INLINE_BYTES_MAX ? inline', 'inline.bytes <= 1_000_000 * INLINE_BYTES_MAX ? inline'],
    test(whole, 'by reference')),
  mutant('deployed-schedules-older-over-newer', '0038: each step of a deployment happens only while no other has begun',
    [deployedRow, "ConditionExpression: 'r=:r AND", "ConditionExpression: ':r=:r AND"],
    test(deployed, 'undoes nothing once a newer one has begun')),
  mutant('deployed-schedules-a-step-twice', '0038: each is applied once, whoever of several sweepers does it',
    [deployedRow, 'AND n.#n=:left', 'AND :left=:left'],
    test(deployed, 'is applied once by two sweepers')),
  mutant('deployed-schedules-two-begin-as-one', '0038: a deployment begins from the row that it saw',
    [deployedRow, "ConditionExpression: 'r=:seen'", "ConditionExpression: ':seen=:seen'"],
    test(deployed, 'that begins while another does')),
  mutant('deployed-schedules-put-again-and-again', '0038: each is applied once a deployment',
    [deploy, "at === 'left' ? [name] : []", "at === 'left' || at === 'done' ? [name] : []"],
    test(deployed, 'tries that one alone again')),
  mutant('deployed-schedules-delete-a-callers-own', '0038: a deployment deletes what a deployment put',
    [change, "before.deployed ? 'deleted' : 'kept'", "before.deployed || !before.deployed ? 'deleted' : 'kept'"],
    test(deployed, 'no deployment deletes them then')),
  mutant('deployed-schedules-forget-earlier-ones', '0038: what an earlier deployment put is deleted',
    [deploy, '[...(before?.names.keys() ?? []), ...wanted.keys()]', '[...wanted.keys()]'],
    test(deployed, 'are deleted when a deployment has them no more')),
  mutant('deployed-schedules-disturbed', '0038: what is as it was stays as it is',
    [change, 'isDefinedAlike(definition, before) && before.deployed === deployed', 'isDefinedAlike(definition, before) && !deployed'],
    test(deployed, 'go on undisturbed')),
  mutant('deployed-schedules-stay-when-a-caller-puts-them', '0038: a put by a caller, equal or not, makes a schedule the caller\'s',
    [change, 'before.deployed === deployed)', '(before.deployed || !deployed))'],
    test(deployed, 'puts them as they are')),
  mutant('deployed-schedules-taken-for-a-callers', '0038: a schedule that a deployment put says so',
    ['engine/core/stored-schedule.ts', "dep: schedule.deployed ? ('y' as const) : undefined", 'dep: undefined'],
    test(deployed, 'say that they come from a deployment')),
  mutant('deployed-schedules-nobody-is-left', '0038: a run whose time is up leaves the rest to the next',
    [deploy, 'if (engine.clock.nowMs() >= deadlineMs) break', ''],
    test(deployed, 'stops when its time is up')),
  mutant('deployed-schedules-one-keeps-the-others-out', '0038: one that takes all of the time does not keep the same others from their turn',
    [deploy, 'Math.floor(engine.random() * left.length)', '0 * left.length'],
    test(deployed, 'comes to all others in the end')),
  mutant('deployed-schedules-cut-off-is-a-failure', '0038: what our own deadline cuts off is left, not failed',
    [deploy, 'if (isCutOff && results.length > 0) break', ''],
    test(deployed, 'what its own deadline has cut off')),
  mutant('deployed-schedules-full-before-they-go', '0038: what goes, goes first',
    [deploy, 'Number(wanted.has(a)) - Number(wanted.has(b))', 'Number(wanted.has(b)) - Number(wanted.has(a))'],
    test(deployed, 'what goes, goes first')),
]
