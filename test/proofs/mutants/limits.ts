// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, test } from './mutant.ts'

/** What bounds an answer, a record and an expression. */
export const limitMutants: readonly Mutant[] = [
  mutant(
    'answer-not-bounded',
    '§5.9 an answer is bounded before its commit: 4 MiB',
    [
      'engine/operations/pop.ts',
      'stretches: plan.picks, bytesMax: ANSWER_BYTES_MAX,',
      'stretches: plan.picks,',
    ],
    test('test/engine/large-answers.test.ts', 'exclusive without'),
  ),
  mutant(
    'large-claim-not-bounded',
    '§5.9 an answer is bounded before its commit: 4 MiB',
    [
      'engine/operations/claim.ts',
      'stretches: [stretch], bytesMax: ANSWER_BYTES_MAX,',
      'stretches: [stretch],',
    ],
    test('test/engine/large-answers.test.ts', 'by competing consumers'),
  ),
  mutant(
    'answer-bounded-before-escaping',
    '§5.9 as Lambda will escape it',
    [
      'engine/core/entry.ts',
      'return Buffer.byteLength(text) + extra',
      'return Buffer.byteLength(text) + extra * 0',
    ],
    test('test/engine/core/entry.test.ts', 'Escaped bytes'),
  ),
  mutant(
    'lock-beyond-what-may-be-in-flight',
    '§3 items in locks and holes ≤ 2,000',
    [
      'engine/core/pop.ts',
      'Math.max(0, Math.min(count, IN_FLIGHT_MAX - inFlightOf(record)))',
      'Math.max(0, Math.min(count, count + inFlightOf(record)))',
    ],
    test('test/engine/record-size.test.ts', 'items in flight'),
  ),
  mutant(
    'claim-planned-beyond-what-may-be-in-flight',
    '§3 items in locks and holes ≤ 2,000',
    [
      ['engine/core/claim.ts', 'if (record.inFlight + count > IN_FLIGHT_MAX) return undefined', ''],
      [
        'engine/core/claim.ts',
        'CLAIM_BLIND_ITEMS, IN_FLIGHT_MAX, LANES_AHEAD_NAMED',
        'CLAIM_BLIND_ITEMS, LANES_AHEAD_NAMED',
      ],
    ],
    test('test/engine/core/claim.test.ts'),
  ),
  mutant(
    'seal-beyond-an-expression',
    '§10 expressions ≤ 4 KB',
    ['engine/core/limits.ts', 'ENTRIES_PER_SEAL = 250', 'ENTRIES_PER_SEAL = 2_500'],
    test('test/engine/store/fenced-update.test.ts', 'a seal of'),
  ),
  mutant(
    'locks-beyond-an-expression',
    '§10 expressions ≤ 4 KB',
    ['engine/core/limits.ts', 'LOCKS_PER_WRITE = 40', 'LOCKS_PER_WRITE = 400'],
    test('test/engine/core/locks.test.ts', 'one write ends no more'),
  ),
  mutant(
    'room-of-done-locks-not-returned',
    '§4 done locks are folded',
    [
      'engine/operations/append.ts',
      'if (doneLocks(record) === 0) throw queueFull(record)',
      'if (doneLocks(record) >= 0) throw queueFull(record)',
    ],
    test('test/engine/capacity.test.ts', 'Room returns'),
  ),
  mutant(
    'conflicts-met-for-as-long-as-they-last',
    '0008: a request that transactions refuse is given up after three seconds',
    [
      'foundation/dynamo.ts',
      '|| nowMs - beganMs >= lastsMs) {',
      '|| nowMs - beganMs > lastsMs * 10) {',
    ],
    test('test/foundation/dynamo.test.ts', 'for good'),
  ),
  mutant(
    'lane-refused-from-memory',
    '§5.7 a refusal needs a strong read',
    [
      'engine/operations/lanes.ts',
      "if (isTooMany && !isCurrent) return { kind: 'look' }",
      'void isCurrent',
    ],
    test('test/engine/stuck-lanes.test.ts', 'emptied by somebody else'),
  ),
  mutant(
    'wide-push-refused-from-memory',
    '§5.7 a refusal needs a strong read',
    [
      'engine/operations/append.ts',
      "return isCurrent ? { kind: 'act', act: () => clearTheWay(appending, record) } : { kind: 'look' }",
      "return { kind: 'act', act: () => clearTheWay(appending, record) }",
    ],
    test('test/engine/stuck-lanes.test.ts', 'gone since'),
  ),
  mutant(
    'room-for-lanes-made-by-others-not-seen',
    '§5.7 a refusal needs a strong read',
    [
      'engine/operations/lanes.ts',
      '(left?.lanes.size ?? 0) < record.lanes.size',
      '(left?.lanes.size ?? 0) < 0',
    ],
    test('test/engine/stuck-lanes.test.ts', 'drops its lanes first'),
  ),
]
