// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { edit, type Mutant, test } from './mutant.ts'

/** What bounds an answer, a record and an expression. */
export const limitMutants: readonly Mutant[] = [
  {
    name: 'answer-not-bounded',
    rule: '§5.9 an answer is bounded before its commit: 4 MiB',
    edits: [
      edit(
        'engine/operations/pop.ts',
        '  const read = await engine.items.read(record, plan.picks, ANSWER_BYTES_MAX)\n',
        '  const read = await engine.items.read(record, plan.picks)\n',
      ),
    ],
    killers: [test('test/engine/large-answers.test.ts', 'exclusive without')],
  },
  {
    name: 'large-claim-not-bounded',
    rule: '§5.9 an answer is bounded before its commit: 4 MiB',
    edits: [
      edit(
        'engine/operations/claim.ts',
        'read(claim.seen, [stretch], ANSWER_BYTES_MAX)',
        'read(claim.seen, [stretch])',
      ),
    ],
    killers: [test('test/engine/large-answers.test.ts', 'by competing consumers')],
  },
  {
    name: 'answer-bounded-before-escaping',
    rule: '§5.9 as Lambda will escape it',
    edits: [
      edit(
        'engine/core/entry.ts',
        '  return Buffer.byteLength(text) + extra\n',
        '  return Buffer.byteLength(text) + extra * 0\n',
      ),
    ],
    killers: [test('test/engine/core/entry.test.ts', 'Escaped bytes')],
  },
  {
    name: 'lock-beyond-what-may-be-in-flight',
    rule: '§3 items in locks and holes ≤ 2,000',
    edits: [
      edit(
        'engine/core/pop.ts',
        'Math.max(0, Math.min(count, IN_FLIGHT_MAX - inFlightOf(record)))',
        'Math.max(0, Math.min(count, count + inFlightOf(record)))',
      ),
    ],
    killers: [test('test/engine/record-size.test.ts', 'items in flight')],
  },
  {
    name: 'claim-planned-beyond-what-may-be-in-flight',
    rule: '§3 items in locks and holes ≤ 2,000',
    edits: [
      edit(
        'engine/core/claim.ts',
        '    if (record.inFlight + count > IN_FLIGHT_MAX) return undefined\n',
        '',
      ),
      edit(
        'engine/core/claim.ts',
        'CLAIM_BLIND_ITEMS, IN_FLIGHT_MAX, LANES_AHEAD_NAMED',
        'CLAIM_BLIND_ITEMS, LANES_AHEAD_NAMED',
      ),
    ],
    killers: [test('test/engine/core/claim.test.ts')],
  },
  {
    name: 'conflicts-met-for-as-long-as-they-last',
    rule: '0008: a request that transactions refuse is given up after three seconds',
    edits: [
      edit(
        'foundation/dynamo.ts',
        ' || nowMs - beganMs >= lastsMs) {',
        ' || nowMs - beganMs > lastsMs * 10) {',
      ),
    ],
    killers: [test('test/foundation/dynamo.test.ts', 'for good')],
  },
  {
    name: 'lane-refused-from-memory',
    rule: '§5.7 a refusal needs a strong read',
    edits: [
      edit(
        'engine/operations/append.ts',
        '      if (current) await makeRoomForLanes(',
        '      await makeRoomForLanes(',
      ),
    ],
    killers: [test('test/engine/stuck-lanes.test.ts', 'emptied by somebody else')],
  },
  {
    name: 'wide-push-refused-from-memory',
    rule: '§5.7 a refusal needs a strong read',
    edits: [
      edit(
        'engine/operations/append.ts',
        "    if (wide && (obstacle.kind === 'full'",
        "    if (!wide && (obstacle.kind === 'full'",
      ),
    ],
    killers: [test('test/engine/stuck-lanes.test.ts', 'gone since')],
  },
  {
    name: 'room-for-lanes-made-by-others-not-seen',
    rule: '§5.7 a refusal needs a strong read',
    edits: [
      edit(
        'engine/operations/append.ts',
        ' || lanesLeft < record.lanes.size) return',
        ' || lanesLeft < 0) return',
      ),
    ],
    killers: [test('test/engine/stuck-lanes.test.ts', 'drops its lanes first')],
  },
  {
    name: 'seal-beyond-an-expression',
    rule: '§10 expressions ≤ 4 KB',
    edits: [edit('engine/core/limits.ts', 'ENTRIES_PER_SEAL = 250', 'ENTRIES_PER_SEAL = 2_500')],
    killers: [test('test/engine/store/fenced-update.test.ts', 'a seal of')],
  },
  {
    name: 'locks-beyond-an-expression',
    rule: '§10 expressions ≤ 4 KB',
    edits: [edit('engine/core/limits.ts', 'LOCKS_PER_WRITE = 40', 'LOCKS_PER_WRITE = 400')],
    killers: [test('test/engine/core/locks.test.ts', 'one write ends no more')],
  },
  {
    name: 'room-of-done-locks-not-returned',
    rule: '§4 done locks are folded',
    edits: [
      edit(
        'engine/operations/append.ts',
        '        if (record === undefined || doneLocks(record) === 0) throw queueFull(queue, record)\n',
        '        if (record === undefined || doneLocks(record) >= 0) throw queueFull(queue, record)\n',
      ),
    ],
    killers: [test('test/engine/capacity.test.ts', 'Room returns')],
  },
]
