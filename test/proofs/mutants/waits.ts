import { type Mutant, mutant, simulation, test } from './mutant.ts'

const wait = 'engine/verbs/wait-for-items.ts'
const seats = 'engine/verbs/wait-for-items.ts'

/** Waiting pops and the loop around a transaction, as the simulation sees them. */
// biome-ignore format: a mutant is a row
export const waitMutants: readonly Mutant[] = [
  mutant('waiting-pop-notices-nothing', '0029: what waits looks about three times a second',
    [wait, 'return hasSomethingFor(',
     'return command.count < 0 && hasSomethingFor('],
    simulation(250, 'waiting')),
  mutant('waiting-pop-is-cut-short', '0029: an empty answer comes at the end of the wait',
    [wait, 'hasWaited = clock.nowMs() >= untilMs', 'hasWaited = clock.nowMs() >= untilMs - 900'], simulation(20, 'waiting')),
  mutant('waiting-pop-waits-for-its-clock', 'everything is bounded',
    [wait, 'clock.nowMs() >= untilMs || pausesMs > 1_000 * waitSeconds', 'clock.nowMs() >= untilMs'],
    test('test/engine/wait.test.ts', 'set back')),
  mutant('waiting-pop-takes-its-wait-for-a-wrong-clock', '0029: what waited is answered as any other pop',
    [wait, 'limit.receivedMs = receivedMs + pausesMs', 'limit.receivedMs = receivedMs'],
    test('test/engine/wait.test.ts', 'however long')),
  mutant('waiting-pop-trusts-any-clock', 'a clock that is far off takes no slot',
    [wait, 'limit.receivedMs = receivedMs + pausesMs', 'limit.receivedMs = clock.nowMs()'],
    test('test/engine/wait.test.ts', 'however long')),
  mutant('waiting-pop-without-a-seat', '0029: so many pops wait at once, and no more',
    [seats, "if (taken.kind === 'done') return", "if (taken.kind !== 'unknown') return"],
    simulation(20, 'waiting')),
  mutant('waiting-pop-leaves-the-seat-of-another', '0029: nobody gives away the seat of another',
    [seats, "'#seat = :mine'", "'#seat = :mine OR #seat > :mine'"], simulation(100, 'waiting')),
  mutant('waiting-pop-has-the-seat-of-its-moment', '0029: nobody gives away the seat of another',
    [seats, ' + APART_MS * random()', ''], test('test/engine/wait.test.ts', 'same moment')),
  mutant('waiting-pop-is-kept-out-by-its-clock', 'everything is bounded',
    [seats, '0 < leftMs && leftMs <= ALL_TAKEN_FOR_MS', '0 < leftMs'],
    test('test/engine/wait.test.ts', 'found all seats taken')),
  mutant('waiting-pop-sits-for-minutes', '0029: who dies on a seat leaves it when it expires',
    [seats, 'const LATER_MS = 5_000', 'const LATER_MS = 500_000'], simulation(20, 'waiting')),
  mutant('transact-takes-a-new-entry-in-doubt', 'one entry has one effect, whatever gets lost',
    ['engine/verbs/transact.ts', "fate === 'in the way' && doubt === undefined",
     "fate === 'in the way'"], test('test/engine/transact.test.ts', 'no other entry')),
]
