import { type Mutant, mutant, simulation, test } from './mutant.ts'

const runs = 'engine/core/runs.ts'
const storedIn = 'engine/core/stored-in.ts'
const seal = 'engine/core/seal.ts'
const runsTest = 'test/engine/core/runs.test.ts'
const housekeepTest = 'test/engine/housekeep.test.ts'

/** Batches that stay where they were born, and what is told of where items lie. */
// biome-ignore format: a mutant is a row
export const batchMutants: readonly Mutant[] = [
  mutant('a-seal-notes-nothing', '0033 a seal notes where its entries lie',
    [seal, 'const runs = runsAfter(lane, entries)', 'const runs = lane.runs'],
    simulation(300, 'segments')),
  mutant('a-batch-noted-as-rows', '0033 what is told is true',
    [runs, "if (!isReference(entry)) return 'rows'", "if (entry.length > 0) return 'rows'"],
    simulation(300, 'segments')),
  mutant('an-older-seal-taken-for-rows', '0033 what another engine sealed is not known',
    [runs,
     "join(runs, { from, to: lane.sealed, in: 'unknown' })",
     "join(runs, { from, to: lane.sealed, in: 'rows' })"], simulation(600, 'segments')),
  mutant('runs-forgotten-too-early', '0033 a run is forgotten when the head has passed all of it',
    [runs, 'runs.filter(({ to }) => to > head)', 'runs.filter(({ from }) => from >= head)'],
    simulation(300, 'segments')),
  mutant('a-tails-batch-told-as-the-record', '0033 what is told is true',
    [storedIn, "if (!isReference(entry)) return 'record'", "if (entry.length > 0) return 'record'"],
    simulation(300)),
  mutant('what-was-recalled-told-before-it-is', '0033 what is told is true',
    [storedIn,
     'const back = Math.min(Math.max(recalled, offloaded.from), offloaded.to)',
     'const back = Math.min(Math.max(recalled + 1, offloaded.from), offloaded.to)'],
    simulation(600, 'segments')),
  mutant('a-batch-in-s3-copied-into-segments', '0033 a batch stays where it was born',
    [runs,
     'staying.push({ from: Math.floor(from / segmentSize), to: Math.ceil(to / segmentSize) })',
     'void Math.floor(from / segmentSize)'], test(runsTest)),
  mutant('segments-half-in-batches-never-offloaded', '0033 all of it, or some of it in S3',
    [runs,
     'const whole = { from: Math.ceil(from / segmentSize), to: Math.floor(to / segmentSize) }',
     'const whole = { from: Math.floor(from / segmentSize), to: Math.ceil(to / segmentSize) }'],
    test(runsTest)),
  mutant('a-settled-batch-kept-in-s3', '0033 an object goes once all of its batch is settled',
    ['engine/operations/lanes/segment-work.ts',
     'await deleteBatchParts(engine, queue, reference, spent)',
     "if (reference.storage === 'rows') await deleteBatchParts(engine, queue, reference, spent)"],
    test(housekeepTest)),
]
