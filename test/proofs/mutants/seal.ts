// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, simulation, test } from './mutant.ts'

const fencedUpdate = 'engine/requests/fenced-update.ts'
const seal = 'engine/storing/seal.ts'
const segmentRows = 'engine/requests/segment-rows.ts'
const settling = 'engine/core/settling.ts'
const coreSeal = 'engine/core/plan-seal.ts'

/** Sealing: rows first, then exactly that prefix off the tail. */
// biome-ignore format: a mutant is a row
export const sealMutants: readonly Mutant[] = [
  mutant('seal-sets-the-tail', 'rule 2: takes entries off a tail only as a prefix',
    [fencedUpdate,
     'for (let index = dropped - 1; index >= 0; index -= 1) update.removes.push(path(`t[${index}]`))',
     "if (dropped > 0) update.set(path('t'), [...after.tail])"], simulation(300)),
  mutant('seal-removes-one-entry-too-many', 'exactly that prefix',
    [fencedUpdate, 'let index = dropped - 1;', 'let index = dropped;'], simulation(300)),
  mutant('seal-removes-one-entry-too-few', 'exactly that prefix',
    [fencedUpdate, 'let index = dropped - 1;', 'let index = dropped - 2;'], simulation(300)),
  mutant('seal-removes-the-lowest-index-first', 'rule 2: REMOVE by index, highest first',
    [fencedUpdate,
     'for (let index = dropped - 1; index >= 0; index -= 1)',
     'for (let index = 0; index < dropped; index += 1)'],
    test('test/engine/store/fenced-update.test.ts', 'takes entries off a tail by index')),
  mutant('seal-commits-before-its-rows', 'copies, then takes the prefix off',
    [[seal, 'await writeRows(engine, record, planned, rows, receipts) const nowMs', 'const nowMs'],
     [seal,
      'for (const part of planned.tails) entries += part.entries.length',
      `await writeRows(engine, record, planned, rows, receipts)
for (const part of planned.tails) entries += part.entries.length`]], simulation(300)),
  mutant('seal-loser-deletes-its-rows', 'rule 1: nobody deletes his own copy after losing the fence',
    [seal,
     '.filter((row) => parseChunkSortKey(row.sk as string).to <= head)',
     '.filter((row) => parseChunkSortKey(row.sk as string).to >= 0)'], simulation(300)),
  mutant('chunk-over-the-end-of-its-segment', 'a chunk is a stretch of one segment',
    [segmentRows, 'if (run.length > 0 && sequence % lane.segmentSize === 0) flush()', ''],
    simulation(300)),
  mutant('reference-over-the-end-of-its-segment', 'a chunk is a stretch of one segment',
    [segmentRows,
     'const to = Math.min(end, (segment + 1) * lane.segmentSize) rows.push',
     `const to = end
rows.push`], simulation(300)),
  mutant('prune-takes-an-unsettled-item', 'guarantee 2: nothing is missing',
    [settling,
     '!isReference(entry) && from < lane.head)',
     '!isReference(entry) && from <= lane.head)'], simulation(300)),
  mutant('prune-drops-the-only-pointer-to-a-batch', 'nothing is left over',
    [settling, '!isReference(entry) && from < lane.head)', 'from + spanOf(entry) <= lane.head)'],
    simulation(100, 'faultless')),
  mutant('seal-does-not-lighten-the-tail', 'counts equal a recount',
    [coreSeal, 'tailBytes -= bytesOf(entries)', 'tailBytes -= 0'], simulation(300)),
  mutant('failed-seal-fails-the-push', 'rule 6: nothing after the commit changes the answer',
    [seal,
     "await work(engine, record).catch((error: unknown) => { engine.onBackgroundError(error, { queue: record.queue, step: 'seal' }) })",
     'await work(engine, record)'], test('test/proofs/mutants/answers.test.ts')),
]
