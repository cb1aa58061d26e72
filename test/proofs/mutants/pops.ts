// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, simulation, test } from './mutant.ts'

const operation = 'engine/operations/pop.ts'
const plan = 'engine/core/pop.ts'
const items = 'engine/store/items.ts'
const lockUpdates = 'engine/store/lock-updates.ts'
const racesTest = 'test/proofs/mutants/races.test.ts'
const claimTest = 'test/engine/core/claim.test.ts'

/** Pops under the fence, and claims beside it. */
export const popMutants: readonly Mutant[] = [
  mutant(
    'pop-commits-before-it-reads',
    '§5.4 read before the write that takes',
    [
      [
        operation,
        "return { kind: 'read', stretches: plan.picks, bytesMax: ANSWER_BYTES_MAX, next: (entries) => decideTake(engine, record, plan, entries, command, view), }",
        "return decideTake(engine, record, plan, Array(itemsIn(plan.picks)).fill(''), command, view)",
      ],
      [
        operation,
        'const known = await leaveDryQuietly(engine, after)',
        `const read = await engine.items.read(record, plan.picks, ANSWER_BYTES_MAX)
if (read.kind === 'missing') return { kind: 'missing', record }
entries = read.entries
const known = await leaveDryQuietly(engine, after)`,
      ],
    ],
    simulation(300),
  ),
  mutant(
    'pop-without-the-lanes-ahead',
    '§5.3 each lane ahead is as seen',
    [
      plan,
      '...(ahead.length <= LANES_AHEAD_NAMED ? { lanesAhead: ahead } : { appends: true }),',
      '',
    ],
    simulation(300, 'priorities'),
  ),
  mutant(
    'pop-without-lanes-made',
    '§5.3 no lane ahead was made meanwhile',
    [plan, 'lanesMade: last > 0,', ''],
    simulation(300, 'priorities'),
  ),
  mutant(
    'exclusive-pop-beside-a-live-lock',
    '§6.4 an exclusive queue has at most one lock',
    [
      plan,
      'if (!command.competing && live.length > 0) {',
      'if (!command.competing && live.length > 1) {',
    ],
    simulation(300),
  ),
  mutant(
    'empty-pop-without-guards',
    '§5.7 an "empty" is never guessed',
    [operation, 'const guards = nothingVisible(record, command)', 'const guards = {}'],
    test(racesTest),
  ),
  mutant(
    'locked-by-memory',
    '§5.7 refusals come from ALL_OLD or a strong read',
    [
      'engine/operations/attempts.ts',
      '(isConclusion && !run.isCurrent)',
      "(isConclusion && !run.isCurrent && !JSON.stringify(decision).includes('locked'))",
    ],
    simulation(300),
  ),
  mutant(
    'empty-by-memory',
    '§5.7 refusals come from ALL_OLD or a strong read',
    [operation, "plan.kind === 'empty' ||", ''],
    simulation(300),
  ),
  mutant(
    'priorities-in-the-order-of-strings',
    '§6.3 a pop never passes over a better priority',
    [
      'engine/core/record.ts',
      'return [...record.lanes].sort(([a], [b]) => a - b)',
      'return [...record.lanes].sort()',
    ],
    simulation(300),
  ),
  mutant(
    'pop-passes-over-a-lane-of-one-item',
    '§6.3 a pop never passes over a better priority',
    [
      plan,
      'if (free.length === 0) continue if (left === 0',
      `if (free.length === 0 || (priority > 0 && countOf(free) === 1 && record.lanes.size > 2)) continue
if (left === 0`,
    ],
    simulation(300),
  ),
  mutant(
    'fresh-items-before-returned-ones',
    '§6.3 returned items come first again',
    [
      'engine/core/record.ts',
      'const all = [{ from: lane.head, to: endOf(lane) }] const taken',
      `const all = [{ from: lane.frontier < endOf(lane) ? lane.frontier : lane.head, to: endOf(lane) }]
const taken`,
    ],
    simulation(300),
  ),
  mutant(
    'missing-segment-passed-over',
    '§5.4 a segment is never skipped',
    [
      items,
      "if (entry === undefined) return { kind: 'missing', priority, sequence }",
      'if (entry === undefined) continue',
    ],
    simulation(300),
  ),
  mutant(
    'reader-takes-the-first-row-for-all',
    '§5.8 a reader merges all rows of a segment',
    [items, 'factsOf(rows)', 'factsOf(rows.slice(0, 1))'],
    simulation(300),
  ),
  mutant(
    'no-strong-read-of-a-missing-row',
    '§5.4 a row that is not there: strong read',
    [items, 'for (const consistent of [false, true]) {', 'for (const consistent of [false]) {'],
    test('test/proofs/mutants/answers.test.ts'),
  ),
  mutant(
    'claim-without-epoch',
    '§2 epoch: the lane is another one by now',
    [lockUpdates, 'update.condition(`${lane}.e=${update.value(claim.epoch)}`)', ''],
    test(claimTest),
  ),
  mutant(
    'claim-without-returns',
    '§4 a claim: nothing came back to the front',
    [lockUpdates, 'update.condition(`g=${update.value(seen.returns)}`)', ''],
    simulation(400, 'claims'),
  ),
  mutant(
    'claim-while-the-timer-is-due',
    '§6.3 returned items come first again',
    [lockUpdates, 'update.condition(`checkAt>${update.value(nowMs)}`)', ''],
    simulation(300, 'claims'),
  ),
  mutant(
    'claim-ends-before-the-timer',
    '§4 checkAt is not later than the new expiry',
    [
      lockUpdates,
      '// The sweeper would come too late for this lock. update.condition(`checkAt<=${update.value(expiresAtMs)}`)',
      '',
    ],
    test(claimTest),
  ),
  mutant(
    'claim-past-the-end',
    '§6.5 frontier ≤ end',
    [
      lockUpdates,
      'update.condition( `${lane}.f${frontier}${update.value(claim.exact ? seen.lanes.get(priority)?.frontier : claim.frontierMax)}`, )',
      'void frontier',
    ],
    simulation(300, 'claims'),
  ),
  mutant(
    'large-claim-not-exact',
    '§5.9 an answer is bounded before its commit',
    [
      [lockUpdates, "const frontier = claim.exact ? '=' : '<='", "const frontier = '<='"],
      [
        lockUpdates,
        'claim.exact ? seen.lanes.get(priority)?.frontier : claim.frontierMax',
        'claim.frontierMax',
      ],
    ],
    test(racesTest),
  ),
  mutant(
    'claim-without-lanes-made',
    '§5.3 no lane ahead was made meanwhile',
    [lockUpdates, 'if (priority > 0) update.condition(`n=${update.value(seen.lanesMade)}`)', ''],
    simulation(300, 'priorities'),
  ),
  mutant(
    'claim-without-the-lanes-ahead',
    '§5.3 each lane ahead is as seen',
    [
      lockUpdates,
      'for (const ahead of claim.lanesAhead) {',
      'for (const ahead of claim.lanesAhead.slice(0, 0)) {',
    ],
    simulation(300, 'priorities'),
  ),
  mutant(
    'claim-without-sealed-of-lanes-ahead',
    '§5.3 with `sealed` where the fence is not used',
    [lockUpdates, 'update.condition(`${path}.s=${update.value(other?.sealed ?? 0)}`)', ''],
    test(claimTest),
  ),
  mutant(
    'claim-without-the-appends',
    '§5.3 with more lanes ahead, all appends are compared',
    [lockUpdates, 'if (claim.noAppends) update.condition(`a=${update.value(seen.appends)}`)', ''],
    test(racesTest),
  ),
  mutant(
    'claim-without-bound-in-flight',
    '§3 items in locks and holes ≤ 2,000',
    [lockUpdates, 'update.condition(`i<=${update.value(IN_FLIGHT_MAX - count)}`)', ''],
    test(claimTest),
  ),
  mutant(
    'claim-ignores-the-hold',
    '§6.7 no kind of request starves',
    [
      lockUpdates,
      'update.condition(`(attribute_not_exists(${hold}) OR NOT ${heldBy})`)',
      'update.condition(`(attribute_not_exists(${hold}) OR attribute_exists(${hold}) OR ${heldBy})`)',
    ],
    test(claimTest),
    test('test/engine/concurrency.test.ts'),
  ),
  mutant(
    'claim-does-not-count-itself',
    '§4 whatever depends on the frontier compares the count of claims',
    [lockUpdates, "update.add('c', 1) update.add('i', count)", "update.add('i', count)"],
    simulation(300, 'claims'),
  ),
  mutant(
    'claim-acknowledges-an-ended-lock',
    '§6.1 an acknowledge settles a live lock alone',
    [
      lockUpdates,
      'update.condition(`${earlier}>${update.value(nowMs)}`) acknowledgesAsSeen',
      'update.condition(`attribute_exists(${earlier})`)\nacknowledgesAsSeen',
    ],
    test(claimTest),
  ),
  mutant(
    'claim-acknowledges-an-altered-lock',
    'an acknowledge counts exactly',
    [lockUpdates, 'acknowledgesAsSeen(update, claim)', 'void acknowledgesAsSeen'],
    test(racesTest),
  ),
  mutant(
    'claim-planned-over-returned-items',
    '§6.3 returned items come first again',
    [
      'engine/core/claim.ts',
      'if (free.length > 1 || first.from !== lane.frontier) return undefined',
      '',
    ],
    simulation(300, 'claims'),
  ),
  mutant(
    'failed-fold-fails-the-claim',
    '§5.6 nothing after the commit changes the answer',
    [
      'engine/operations/fold.ts',
      '% DONE_LOCKS_STEP !== 0) return await fold(engine, record).catch(',
      `% DONE_LOCKS_STEP !== 0) return
  await fold(engine, record).then(`,
    ],
    test('test/proofs/mutants/answers.test.ts'),
  ),
  mutant(
    'pop-that-finds-the-dead-alone-leaves-them',
    'an item that comes back too often is dead-lettered within seconds',
    [
      plan,
      "return returned === record ? { kind: 'empty' } : { kind: 'end-expired', draft: returned }",
      "return { kind: 'empty' }",
    ],
    test('test/engine/dead-letter.test.ts', 'finds nothing else'),
  ),
  mutant(
    'short-by-memory',
    'one pop fills its count',
    [operation, "|| (plan.kind === 'take' && itemsIn(plan.picks) < count)", ''],
    test('test/engine/fill.test.ts', 'exclusive'),
  ),
  mutant(
    'claim-short-by-memory',
    'one pop fills its count',
    [
      'engine/operations/claim.ts',
      'claim === undefined || (!view.isCurrent && claim.count < command.count)',
      'claim === undefined',
    ],
    test('test/engine/fill.test.ts', 'competing'),
  ),
  mutant(
    'missing-counts-though-the-record-has-moved',
    '§5.4 503 only if it is missing at the current version',
    [
      'engine/operations/missing-items.ts',
      'if (current?.born === record?.born && current?.version === record?.version) this.#found += 1',
      'this.#found += 1',
    ],
    test('test/engine/moving.test.ts', 'A pop follows'),
  ),
]
