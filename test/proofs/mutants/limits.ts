import { type Mutant, mutant, test } from './mutant.ts'

const claim = 'engine/core/claim.ts'
const limits = 'engine/core/limits.ts'
const append = 'engine/operations/append.ts'
const lanes = 'engine/operations/lanes.ts'
const largeAnswersTest = 'test/engine/large-answers.test.ts'
const stuckLanesTest = 'test/engine/stuck-lanes.test.ts'

/** What bounds an answer, a record and an expression. */
// biome-ignore format: a mutant is a row
export const limitMutants: readonly Mutant[] = [
  mutant('answer-not-bounded', '§5.9 an answer is bounded before its commit: 4 MiB',
    ['engine/operations/pop.ts',
     'stretches: plan.picks, bytesMax: ANSWER_BYTES_MAX,',
     'stretches: plan.picks,'], test(largeAnswersTest, 'exclusive without')),
  mutant('large-claim-not-bounded', '§5.9 an answer is bounded before its commit: 4 MiB',
    ['engine/operations/claim.ts',
     'stretches: [stretch], bytesMax: ANSWER_BYTES_MAX,',
     'stretches: [stretch],'], test(largeAnswersTest, 'by competing consumers')),
  mutant('answer-bounded-before-escaping', '§5.9 as Lambda will escape it',
    ['engine/core/entry.ts',
     'return Buffer.byteLength(text) + extra',
     'return Buffer.byteLength(text) + extra * 0'],
    test('test/engine/core/entry.test.ts', 'Escaped bytes')),
  mutant('lock-beyond-what-may-be-in-flight', '§3 items in locks and holes ≤ 2,000',
    ['engine/core/pop.ts',
     'Math.max(0, Math.min(count, IN_FLIGHT_MAX - inFlightOf(record)))',
     'Math.max(0, Math.min(count, count + inFlightOf(record)))'],
    test('test/engine/record-size.test.ts', 'items in flight')),
  mutant('claim-planned-beyond-what-may-be-in-flight', '§3 items in locks and holes ≤ 2,000',
    [[claim, 'if (record.inFlight + count > IN_FLIGHT_MAX) return undefined', ''],
     [claim,
      'CLAIM_BLIND_ITEMS, IN_FLIGHT_MAX, LANES_AHEAD_NAMED',
      'CLAIM_BLIND_ITEMS, LANES_AHEAD_NAMED']], test('test/engine/core/claim.test.ts')),
  mutant('seal-beyond-an-expression', '§10 expressions ≤ 4 KB',
    [limits, 'ENTRIES_PER_SEAL = 250', 'ENTRIES_PER_SEAL = 2_500'],
    test('test/engine/store/fenced-update.test.ts', 'a seal of')),
  mutant('locks-beyond-an-expression', '§10 expressions ≤ 4 KB',
    [limits, 'LOCKS_PER_WRITE = 40', 'LOCKS_PER_WRITE = 400'],
    test('test/engine/core/locks.test.ts', 'one write ends no more')),
  mutant('room-of-done-locks-not-returned', '§4 done locks are folded',
    [append,
     'if (doneLocks(record) === 0) throw queueFull(record)',
     'if (doneLocks(record) >= 0) throw queueFull(record)'],
    test('test/engine/capacity.test.ts', 'Room returns')),
  mutant('conflicts-met-for-as-long-as-they-last',
    '0008: a request that transactions refuse is given up after three seconds',
    ['foundation/dynamo.ts',
     '|| waited.ms >= lastsMs) {',
     '|| waited.ms > lastsMs * 10) {'], test('test/foundation/dynamo.test.ts', 'for good')),
  mutant('patience-ended-by-a-clock-that-jumps', '0008: a conflict passes within milliseconds',
    ['foundation/dynamo.ts', 'waited.ms += ms', 'waited.ms = this.#clock.nowMs() - 1_000'],
    test('test/foundation/dynamo.test.ts', 'set forward')),
  mutant('lane-refused-from-memory', '§5.7 a refusal needs a strong read',
    [lanes, 'if (isTooMany && !isCurrent) return look', 'void isCurrent'],
    test(stuckLanesTest, 'emptied by somebody else')),
  mutant('wide-push-refused-from-memory', '§5.7 a refusal needs a strong read',
    [append,
     'return isCurrent ? act(() => clearTheWay(appending, record)) : look',
     'return act(() => clearTheWay(appending, record))'],
    test(stuckLanesTest, 'gone since')),
  mutant('room-for-lanes-made-by-others-not-seen', '§5.7 a refusal needs a strong read',
    [lanes, '(left?.lanes.size ?? 0) < record.lanes.size', '(left?.lanes.size ?? 0) < 0'],
    test(stuckLanesTest, 'drops its lanes first')),
]
