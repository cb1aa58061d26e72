// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { edit, type Mutant, simulation, test } from './mutant.ts'

const claim = 'engine/store/lock-updates.ts'
const without = (find: string, replace = '') => [edit(claim, find, replace)]

/** Pops under the fence, and claims beside it. */
export const popMutants: readonly Mutant[] = [
  {
    name: 'pop-commits-before-it-reads',
    rule: '§5.4 read before the write that takes',
    edits: [
      edit(
        'engine/operations/pop.ts',
        `  const read = await engine.items.read(record, plan.picks, ANSWER_BYTES_MAX)
  if (read.kind === 'missing') return { kind: 'missing', record }
  const taken = takeItems(plan, read.entries.length, command, nowMs)
`,
        '  const taken = takeItems(plan, plan.picks.reduce((sum, { from, to }) => sum + to - from, 0), command, nowMs)\n',
      ),
      edit(
        'engine/operations/pop.ts',
        "  const outcome = {\n    kind: 'items' as const,\n",
        `  const read = await engine.items.read(record, plan.picks, ANSWER_BYTES_MAX)
  if (read.kind === 'missing') return { kind: 'missing', record }
  const outcome = {
    kind: 'items' as const,
`,
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'pop-without-the-lanes-ahead',
    rule: '§5.3 each lane ahead is as seen',
    edits: [
      edit(
        'engine/core/pop.ts',
        '    ...(ahead.length <= LANES_AHEAD_NAMED ? { lanesAhead: ahead } : { appends: true }),\n',
        '',
      ),
    ],
    killers: [simulation(300, 'priorities')],
  },
  {
    name: 'pop-without-lanes-made',
    rule: '§5.3 no lane ahead was made meanwhile',
    edits: [edit('engine/core/pop.ts', '    lanesMade: last > 0,\n', '')],
    killers: [simulation(300, 'priorities')],
  },
  {
    name: 'exclusive-pop-beside-a-live-lock',
    rule: '§6.4 an exclusive queue has at most one lock',
    edits: [
      edit(
        'engine/core/pop.ts',
        '  if (!command.competing && live.length > 0) {\n',
        '  if (!command.competing && live.length > 1) {\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'empty-pop-without-guards',
    rule: '§5.7 an "empty" is never guessed',
    edits: [
      edit('engine/operations/pop.ts', '          guards: nothingVisible(record, command),\n', ''),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'locked-by-memory',
    rule: '§5.7 refusals come from ALL_OLD or a strong read',
    edits: [
      edit(
        'engine/operations/pop.ts',
        '    if (!current && (ends || isShort)) {\n',
        "    if (!current && ((ends && plan.kind !== 'locked') || isShort)) {\n",
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'empty-by-memory',
    rule: '§5.7 refusals come from ALL_OLD or a strong read',
    edits: [
      edit(
        'engine/operations/pop.ts',
        '    if (!current && (ends || isShort)) {\n',
        '    if (!current && ends) {\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'priorities-in-the-order-of-strings',
    rule: '§6.3 a pop never passes over a better priority',
    edits: [
      edit(
        'engine/core/record.ts',
        'return [...record.lanes].sort(([a], [b]) => a - b)',
        'return [...record.lanes].sort()',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'pop-passes-over-a-lane-of-one-item',
    rule: '§6.3 a pop never passes over a better priority',
    edits: [
      edit(
        'engine/core/pop.ts',
        '    if (free.length === 0) continue\n    if (left === 0',
        '    if (free.length === 0 || (priority > 0 && countOf(free) === 1 && record.lanes.size > 2)) continue\n    if (left === 0',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'fresh-items-before-returned-ones',
    rule: '§6.3 returned items come first again',
    edits: [
      edit(
        'engine/core/record.ts',
        '  const all = [{ from: lane.head, to: endOf(lane) }]\n  const taken',
        '  const all = [{ from: lane.frontier < endOf(lane) ? lane.frontier : lane.head, to: endOf(lane) }]\n  const taken',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'missing-segment-passed-over',
    rule: '§5.4 a segment is never skipped',
    edits: [
      edit(
        'engine/store/items.ts',
        "        if (entry === undefined) return { kind: 'missing', priority, sequence }\n",
        '        if (entry === undefined) continue\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'reader-takes-the-first-row-for-all',
    rule: '§5.8 a reader merges all rows of a segment',
    edits: [edit('engine/store/items.ts', 'factsOf(rows)', 'factsOf(rows.slice(0, 1))')],
    killers: [simulation(300)],
  },
  {
    name: 'no-strong-read-of-a-missing-row',
    rule: '§5.4 a row that is not there: strong read',
    edits: [
      edit(
        'engine/store/items.ts',
        '    for (const consistent of [false, true]) {\n',
        '    for (const consistent of [false]) {\n',
      ),
    ],
    killers: [test('test/proofs/mutants/answers.test.ts')],
  },
  {
    name: 'claim-without-epoch',
    rule: '§2 epoch: the lane is another one by now',
    edits: without('  update.condition(`${lane}.e=${update.value(claim.epoch)}`)\n'),
    killers: [test('test/engine/core/claim.test.ts')],
  },
  {
    name: 'claim-without-returns',
    rule: '§4 a claim: nothing came back to the front',
    edits: without('  update.condition(`g=${update.value(seen.returns)}`)\n'),
    killers: [simulation(400, 'claims')],
  },
  {
    name: 'claim-while-the-timer-is-due',
    rule: '§6.3 returned items come first again',
    edits: without('  update.condition(`checkAt>${update.value(nowMs)}`)\n'),
    killers: [simulation(300, 'claims')],
  },
  {
    name: 'claim-ends-before-the-timer',
    rule: '§4 checkAt is not later than the new expiry',
    edits: without(
      '  // The sweeper would come too late for this lock.\n  update.condition(`checkAt<=${update.value(expiresAtMs)}`)\n',
    ),
    killers: [test('test/engine/core/claim.test.ts')],
  },
  {
    name: 'claim-past-the-end',
    rule: '§6.5 frontier ≤ end',
    edits: without(
      '  update.condition(\n    `${lane}.f${frontier}${update.value(claim.exact ? seen.lanes.get(priority)?.frontier : claim.frontierMax)}`,\n  )\n',
      '  void frontier\n',
    ),
    killers: [simulation(300, 'claims')],
  },
  {
    name: 'large-claim-not-exact',
    rule: '§5.9 an answer is bounded before its commit',
    edits: [
      edit(claim, "  const frontier = claim.exact ? '=' : '<='\n", "  const frontier = '<='\n"),
      edit(
        claim,
        'claim.exact ? seen.lanes.get(priority)?.frontier : claim.frontierMax',
        'claim.frontierMax',
      ),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'claim-without-lanes-made',
    rule: '§5.3 no lane ahead was made meanwhile',
    edits: without('  if (priority > 0) update.condition(`n=${update.value(seen.lanesMade)}`)\n'),
    killers: [simulation(300, 'priorities')],
  },
  {
    name: 'claim-without-the-lanes-ahead',
    rule: '§5.3 each lane ahead is as seen',
    edits: without(
      '  for (const ahead of claim.lanesAhead) {\n',
      '  for (const ahead of claim.lanesAhead.slice(0, 0)) {\n',
    ),
    killers: [simulation(300, 'priorities')],
  },
  {
    name: 'claim-without-sealed-of-lanes-ahead',
    rule: '§5.3 with `sealed` where the fence is not used',
    edits: without('    update.condition(`${path}.s=${update.value(other?.sealed ?? 0)}`)\n'),
    killers: [test('test/engine/core/claim.test.ts')],
  },
  {
    name: 'claim-without-the-appends',
    rule: '§5.3 with more lanes ahead, all appends are compared',
    edits: without('  if (claim.noAppends) update.condition(`a=${update.value(seen.appends)}`)\n'),
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'claim-without-bound-in-flight',
    rule: '§3 items in locks and holes ≤ 2,000',
    edits: without('  update.condition(`i<=${update.value(IN_FLIGHT_MAX - count)}`)\n'),
    killers: [test('test/engine/core/claim.test.ts')],
  },
  {
    name: 'claim-ignores-the-hold',
    rule: '§6.7 no kind of request starves',
    edits: without(
      '  update.condition(`(attribute_not_exists(${hold}) OR NOT ${heldBy})`)\n',
      '  update.condition(`(attribute_not_exists(${hold}) OR attribute_exists(${hold}) OR ${heldBy})`)\n',
    ),
    killers: [test('test/engine/core/claim.test.ts'), test('test/engine/concurrency.test.ts')],
  },
  {
    name: 'claim-does-not-count-itself',
    rule: '§4 whatever depends on the frontier compares the count of claims',
    edits: without(
      "  update.add('c', 1)\n  update.add('i', count)\n",
      "  update.add('i', count)\n",
    ),
    killers: [simulation(300, 'claims')],
  },
  {
    name: 'claim-acknowledges-an-ended-lock',
    rule: '§6.1 an acknowledge settles a live lock alone',
    edits: without(
      '    update.condition(`${earlier}>${update.value(nowMs)}`)\n    acknowledgesAsSeen',
      '    update.condition(`attribute_exists(${earlier})`)\n    acknowledgesAsSeen',
    ),
    killers: [test('test/engine/core/claim.test.ts')],
  },
  {
    name: 'claim-acknowledges-an-altered-lock',
    rule: 'an acknowledge counts exactly',
    edits: without('    acknowledgesAsSeen(update, claim)\n', '    void acknowledgesAsSeen\n'),
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'claim-planned-over-returned-items',
    rule: '§6.3 returned items come first again',
    edits: [
      edit(
        'engine/core/claim.ts',
        '    if (free.length > 1 || first.from !== lane.frontier) return undefined\n',
        '',
      ),
    ],
    killers: [simulation(300, 'claims')],
  },
  {
    name: 'failed-fold-fails-the-claim',
    rule: '§5.6 nothing after the commit changes the answer',
    edits: [
      edit(
        'engine/operations/fold.ts',
        '% DONE_LOCKS_STEP !== 0) return\n  await fold(engine, record).catch(',
        '% DONE_LOCKS_STEP !== 0) return\n  await fold(engine, record).then(',
      ),
    ],
    killers: [test('test/proofs/mutants/answers.test.ts')],
  },
  {
    name: 'pop-that-finds-the-dead-alone-leaves-them',
    rule: 'an item that comes back too often is dead-lettered within seconds',
    edits: [
      edit(
        'engine/core/pop.ts',
        "return returned === record ? { kind: 'empty' } : { kind: 'end-expired', draft: returned }",
        "return { kind: 'empty' }",
      ),
    ],
    killers: [test('test/engine/dead-letter.test.ts', 'finds nothing else')],
  },
  {
    name: 'short-by-memory',
    rule: 'one pop fills its count',
    edits: [
      edit(
        'engine/operations/pop.ts',
        " || (plan.kind === 'take' && itemsIn(plan.picks) < count)\n",
        '\n',
      ),
    ],
    killers: [test('test/engine/fill.test.ts', 'exclusive')],
  },
  {
    name: 'claim-short-by-memory',
    rule: 'one pop fills its count',
    edits: [
      edit(
        'engine/operations/pop.ts',
        'if (claim !== undefined && (current || claim.count === count)) {',
        'if (claim !== undefined) {',
      ),
    ],
    killers: [test('test/engine/fill.test.ts', 'competing')],
  },
  {
    name: 'missing-counts-though-the-record-has-moved',
    rule: '§5.4 503 only if it is missing at the current version',
    edits: [
      edit(
        'engine/operations/popped.ts',
        'if (current?.born === record?.born && current?.version === record?.version) this.#found += 1',
        'this.#found += 1',
      ),
    ],
    killers: [test('test/engine/moving.test.ts', 'A pop follows')],
  },
]
