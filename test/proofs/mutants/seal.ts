// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, simulation, test } from './mutant.ts'

const fencedUpdate = 'engine/store/fenced-update.ts'
const seal = 'engine/operations/seal.ts'
const sealBeforeTest = 'test/engine/seal-before.test.ts'

/** Sealing: rows first, then exactly that prefix off the tail. */
export const sealMutants: readonly Mutant[] = [
  mutant(
    'seal-sets-the-tail',
    '§5.2 takes entries off a tail only as a prefix',
    [
      fencedUpdate,
      'for (let index = dropped - 1; index >= 0; index -= 1) update.removes.push(path(`t[${index}]`))',
      "if (dropped > 0) update.set(path('t'), [...after.tail])",
    ],
    simulation(300),
  ),
  mutant(
    'seal-removes-one-entry-too-many',
    '§4 exactly that prefix',
    [fencedUpdate, 'let index = dropped - 1;', 'let index = dropped;'],
    simulation(300),
  ),
  mutant(
    'seal-removes-one-entry-too-few',
    '§4 exactly that prefix',
    [fencedUpdate, 'let index = dropped - 1;', 'let index = dropped - 2;'],
    simulation(300),
  ),
  mutant(
    'seal-removes-the-lowest-index-first',
    '§5.2 REMOVE by index, highest first',
    [
      fencedUpdate,
      'for (let index = dropped - 1; index >= 0; index -= 1)',
      'for (let index = 0; index < dropped; index += 1)',
    ],
    test('test/engine/store/fenced-update.test.ts', 'takes entries off a tail by index'),
  ),
  mutant(
    'seal-commits-before-its-rows',
    '§4 copies, then takes the prefix off',
    [
      [seal, 'await engine.dynamo.putMany(rows.flat(), true) const nowMs', 'const nowMs'],
      [
        seal,
        'for (const part of seals) entries += part.entries.length',
        `await engine.dynamo.putMany(rows.flat(), true)
for (const part of seals) entries += part.entries.length`,
      ],
    ],
    simulation(300),
  ),
  mutant(
    'seal-loser-deletes-its-rows',
    '§5.1 nobody deletes his own copy after losing the fence',
    [
      seal,
      '.filter((row) => parseChunkSortKey(row.sk as string).to <= head)',
      '.filter((row) => parseChunkSortKey(row.sk as string).to >= 0)',
    ],
    simulation(300),
  ),
  mutant(
    'chunk-over-the-end-of-its-segment',
    '§3 a chunk is a stretch of one segment',
    [
      'engine/store/segment-rows.ts',
      'if (run.length > 0 && sequence % lane.segmentSize === 0) flush()',
      '',
    ],
    simulation(300),
  ),
  mutant(
    'reference-over-the-end-of-its-segment',
    '§3 a chunk is a stretch of one segment',
    [
      'engine/store/segment-rows.ts',
      'const to = Math.min(end, (segment + 1) * lane.segmentSize) rows.push',
      `const to = end
rows.push`,
    ],
    simulation(300),
  ),
  mutant(
    'prune-takes-an-unsettled-item',
    '§6.2 nothing is missing',
    [
      'engine/core/settling.ts',
      '!isReference(entry) && from < lane.head)',
      '!isReference(entry) && from <= lane.head)',
    ],
    simulation(300),
  ),
  mutant(
    'prune-drops-the-only-pointer-to-a-batch',
    'nothing is left over',
    [
      'engine/core/settling.ts',
      '!isReference(entry) && from < lane.head)',
      'from + spanOf(entry) <= lane.head)',
    ],
    simulation(100, 'faultless'),
  ),
  mutant(
    'seal-does-not-lighten-the-tail',
    '§6.5 counts equal a recount',
    ['engine/core/seal.ts', 'tailBytes -= bytesOf(entries)', 'tailBytes -= 0'],
    simulation(300),
  ),
  mutant(
    'failed-seal-fails-the-push',
    '§5.6 nothing after the commit changes the answer',
    [
      seal,
      "await seal(engine, record).catch((error: unknown) => { engine.onBackgroundError(error, { queue: record.queue, step: 'seal' }) })",
      'await seal(engine, record)',
    ],
    test('test/proofs/mutants/answers.test.ts'),
  ),
  mutant(
    'seal-before-an-append-without-the-size-of-the-tail',
    '§5.2 where it drops a tail it adds size(tail)',
    [
      fencedUpdate,
      "update.condition(`size(${path('t')})=${update.value(before.tail.length)}`) update.set(path('t')",
      "update.set(path('t')",
    ],
    test(sealBeforeTest, 'and a push between'),
  ),
  mutant(
    'seal-before-an-append-ignores-capacity',
    'capacity',
    [
      fencedUpdate,
      'if (guards.roomMin !== undefined) update.condition(`room>=${update.value(guards.roomMin)}`)',
      '',
    ],
    test(sealBeforeTest, 'full by then'),
  ),
  mutant(
    'seal-before-an-append-does-not-count-it',
    '§5.3 a pop compares one counter of all appends',
    [fencedUpdate, "update.add('a', after.appends - before.appends)", ''],
    test(sealBeforeTest, 'with one request more'),
  ),
  mutant(
    'seal-before-an-append-commits-before-its-rows',
    '§4 copies, then takes the tail off',
    [
      [seal, 'await engine.dynamo.putMany(rows.flat(), true) } catch', '} catch'],
      [
        seal,
        'const { after } = change',
        `const { after } = change
await engine.dynamo.putMany(rows.flat(), true)`,
      ],
    ],
    simulation(1500),
  ),
  mutant(
    'seal-before-an-append-believes-the-record-of-later',
    '§5.5 a lost answer is never guessed',
    [seal, 'return after', 'return committed.record ?? after'],
    test(sealBeforeTest, 'found by its mark'),
  ),
  mutant(
    'seal-before-an-append-leaves-a-lane-in-the-tail',
    'one write cannot both take from a list and add to it',
    [
      'engine/core/seal.ts',
      'return [...append.lanes.keys()].every((priority) => emptied.get(priority)) ? seals : []',
      'return seals',
    ],
    simulation(300),
    test(sealBeforeTest, 'with more lanes'),
  ),
  mutant(
    'seal-before-an-append-fails-the-push-with-its-copy',
    '§4 its failure never changes the answer',
    [
      seal,
      "engine.onBackgroundError(error, { queue, step: 'seal' }) return undefined",
      'throw error',
    ],
    test(sealBeforeTest, 'cannot be written'),
  ),
  mutant(
    'lone-producer-seals-after-as-well',
    '0011 leaves the first line to its next push',
    [
      'engine/core/append.ts',
      'alone ? record.tailBytes >= LONE_TAIL_BYTES : crossesSealLine',
      'alone && LONE_TAIL_BYTES < 0 ? false : crossesSealLine',
    ],
    test(sealBeforeTest, '1.13 requests'),
  ),
  mutant(
    'lone-producer-never-seals-the-small-lane',
    'hard and soft caps of the tail',
    ['engine/core/append.ts', '? record.tailBytes >= LONE_TAIL_BYTES', '? record.tailBytes < 0'],
    test(sealBeforeTest, 'with more lanes'),
  ),
  mutant(
    'nobody-seals-what-a-lone-producer-left',
    '0011 the next to be alone seals it',
    [
      'engine/operations/append.ts',
      'isNext(record, after)) engine.alone.add(after)',
      'isNext(record, after)) void after',
    ],
    test(sealBeforeTest, 'another that follows'),
  ),
  mutant(
    'own-pop-taken-for-another-producer',
    '0011 one write a push, one in eight with a copy',
    ['engine/operations/commit.ts', 'stillAlone(engine, change.before, record)', ''],
    test(sealBeforeTest, 'pops as well'),
  ),
]
