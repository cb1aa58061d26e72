// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { edit, type Mutant, simulation, test } from './mutant.ts'

/** Sealing: rows first, then exactly that prefix off the tail. */
export const sealMutants: readonly Mutant[] = [
  {
    name: 'seal-sets-the-tail',
    rule: '§5.2 takes entries off a tail only as a prefix',
    edits: [
      edit(
        'engine/store/fenced-update.ts',
        '  for (let index = dropped - 1; index >= 0; index -= 1) update.removes.push(path(`t[${index}]`))',
        "  if (dropped > 0) update.set(path('t'), [...after.tail])",
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'seal-removes-one-entry-too-many',
    rule: '§4 exactly that prefix',
    edits: [
      edit('engine/store/fenced-update.ts', 'let index = dropped - 1;', 'let index = dropped;'),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'seal-removes-one-entry-too-few',
    rule: '§4 exactly that prefix',
    edits: [
      edit('engine/store/fenced-update.ts', 'let index = dropped - 1;', 'let index = dropped - 2;'),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'seal-removes-the-lowest-index-first',
    rule: '§5.2 REMOVE by index, highest first',
    edits: [
      edit(
        'engine/store/fenced-update.ts',
        'for (let index = dropped - 1; index >= 0; index -= 1)',
        'for (let index = 0; index < dropped; index += 1)',
      ),
    ],
    killers: [test('test/engine/store/fenced-update.test.ts', 'takes entries off a tail by index')],
  },
  {
    name: 'seal-commits-before-its-rows',
    rule: '§4 copies, then takes the prefix off',
    edits: [
      edit(
        'engine/operations/seal.ts',
        '    await engine.dynamo.putMany(rows.flat(), true)\n    const nowMs',
        '    const nowMs',
      ),
      edit(
        'engine/operations/seal.ts',
        '    for (const part of seals) entries += part.entries.length\n',
        '    await engine.dynamo.putMany(rows.flat(), true)\n    for (const part of seals) entries += part.entries.length\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'seal-loser-deletes-its-rows',
    rule: '§5.1 nobody deletes his own copy after losing the fence',
    edits: [
      edit(
        'engine/operations/seal.ts',
        '.filter((row) => parseChunkSortKey(row.sk as string).to <= head)',
        '.filter((row) => parseChunkSortKey(row.sk as string).to >= 0)',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'chunk-over-the-end-of-its-segment',
    rule: '§3 a chunk is a stretch of one segment',
    edits: [
      edit(
        'engine/store/segments.ts',
        '      if (run.length > 0 && sequence % lane.segmentSize === 0) flush()\n',
        '',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'reference-over-the-end-of-its-segment',
    rule: '§3 a chunk is a stretch of one segment',
    edits: [
      edit(
        'engine/store/segments.ts',
        '    const to = Math.min(end, (segment + 1) * lane.segmentSize)\n    rows.push',
        '    const to = end\n    rows.push',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'prune-takes-an-unsettled-item',
    rule: '§6.2 nothing is missing',
    edits: [
      edit(
        'engine/core/settling.ts',
        '!isReference(entry) && from < lane.head)',
        '!isReference(entry) && from <= lane.head)',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'prune-drops-the-only-pointer-to-a-batch',
    rule: 'nothing is left over',
    edits: [
      edit(
        'engine/core/settling.ts',
        '!isReference(entry) && from < lane.head)',
        'from + spanOf(entry) <= lane.head)',
      ),
    ],
    killers: [simulation(100, 'faultless')],
  },
  {
    name: 'seal-does-not-lighten-the-tail',
    rule: '§6.5 counts equal a recount',
    edits: [
      edit('engine/core/seal.ts', '    tailBytes -= bytesOf(entries)\n', '    tailBytes -= 0\n'),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'failed-seal-fails-the-push',
    rule: '§5.6 nothing after the commit changes the answer',
    edits: [
      edit(
        'engine/operations/append.ts',
        `  await seal(engine, record).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue: record.queue, step: 'seal' })
  })
`,
        '  await seal(engine, record)\n',
      ),
    ],
    killers: [test('test/proofs/mutants/answers.test.ts')],
  },
  {
    name: 'seal-before-an-append-without-the-size-of-the-tail',
    rule: '§5.2 where it drops a tail it adds size(tail)',
    edits: [
      edit(
        'engine/store/fenced-update.ts',
        "    update.condition(`size(${path('t')})=${update.value(before.tail.length)}`)\n    update.set(path('t')",
        "    update.set(path('t')",
      ),
    ],
    killers: [test('test/engine/seal-before.test.ts', 'and a push between')],
  },
  {
    name: 'seal-before-an-append-ignores-capacity',
    rule: 'capacity',
    edits: [
      edit(
        'engine/store/fenced-update.ts',
        '  if (guards.roomMin !== undefined) update.condition(`room>=${update.value(guards.roomMin)}`)\n',
        '',
      ),
    ],
    killers: [test('test/engine/seal-before.test.ts', 'full by then')],
  },
  {
    name: 'seal-before-an-append-does-not-count-it',
    rule: '§5.3 a pop compares one counter of all appends',
    edits: [
      edit(
        'engine/store/fenced-update.ts',
        "  update.add('a', after.appends - before.appends)\n",
        '',
      ),
    ],
    killers: [test('test/engine/seal-before.test.ts', 'with one request more')],
  },
  {
    name: 'seal-before-an-append-commits-before-its-rows',
    rule: '§4 copies, then takes the tail off',
    edits: [
      edit(
        'engine/operations/seal.ts',
        '    await engine.dynamo.putMany(rows.flat(), true)\n  } catch',
        '  } catch',
      ),
      edit(
        'engine/operations/seal.ts',
        '    const { after } = change\n',
        '    const { after } = change\n    await engine.dynamo.putMany(rows.flat(), true)\n',
      ),
    ],
    killers: [simulation(1_500)],
  },
  {
    name: 'seal-before-an-append-believes-the-record-of-later',
    rule: '§5.5 a lost answer is never guessed',
    edits: [
      edit(
        'engine/operations/seal.ts',
        '    return after\n',
        '    return committed.record ?? after\n',
      ),
    ],
    killers: [test('test/engine/seal-before.test.ts', 'found by its mark')],
  },
  {
    name: 'seal-before-an-append-leaves-a-lane-in-the-tail',
    rule: 'one write cannot both take from a list and add to it',
    edits: [
      edit(
        'engine/core/seal.ts',
        'return [...append.lanes.keys()].every((priority) => emptied.get(priority)) ? seals : []',
        'return seals',
      ),
    ],
    killers: [simulation(300), test('test/engine/seal-before.test.ts', 'with more lanes')],
  },
  {
    name: 'seal-before-an-append-fails-the-push-with-its-copy',
    rule: '§4 its failure never changes the answer',
    edits: [
      edit(
        'engine/operations/seal.ts',
        "    engine.onBackgroundError(error, { queue, step: 'seal' })\n    return undefined",
        '    throw error',
      ),
    ],
    killers: [test('test/engine/seal-before.test.ts', 'cannot be written')],
  },
  {
    name: 'lone-producer-seals-after-as-well',
    rule: '0011 leaves the first line to its next push',
    edits: [
      edit(
        'engine/core/append.ts',
        'alone ? record.tailBytes >= LONE_TAIL_BYTES : crossesSealLine',
        'alone && LONE_TAIL_BYTES < 0 ? false : crossesSealLine',
      ),
    ],
    killers: [test('test/engine/seal-before.test.ts', '1.13 requests')],
  },
  {
    name: 'lone-producer-never-seals-the-small-lane',
    rule: 'hard and soft caps of the tail',
    edits: [
      edit(
        'engine/core/append.ts',
        '? record.tailBytes >= LONE_TAIL_BYTES',
        '? record.tailBytes < 0',
      ),
    ],
    killers: [test('test/engine/seal-before.test.ts', 'with more lanes')],
  },
  {
    name: 'nobody-seals-what-a-lone-producer-left',
    rule: '0011 the next to be alone seals it',
    edits: [
      edit(
        'engine/operations/append.ts',
        'isNext(record, after)) engine.alone.add(after)',
        'isNext(record, after)) void after',
      ),
    ],
    killers: [test('test/engine/seal-before.test.ts', 'another that follows')],
  },
  {
    name: 'a-pop-of-ones-own-is-taken-for-company',
    rule: '0011 one write a push, one in eight with a copy',
    edits: [
      edit('engine/operations/engine.ts', '      stillAlone(engine, change.before, record)\n', ''),
    ],
    killers: [test('test/engine/seal-before.test.ts', 'pops as well')],
  },
]
