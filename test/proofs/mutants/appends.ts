// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, simulation, test } from './mutant.ts'

const appendUpdate = 'engine/requests/append-update.ts'
const racesTest = 'test/proofs/mutants/races.test.ts'
const capacityTest = 'test/engine/capacity.test.ts'

/** Appends: blind, and right all the same. */
// biome-ignore format: a mutant is a row
export const appendMutants: readonly Mutant[] = [
  mutant('append-does-not-count-bytes', 'counts equal a recount',
    [appendUpdate, "update.add('b', append.bytes)", ''], simulation(300)),
  mutant('append-does-not-count-itself', 'rule 3: one counter of all appends',
    [appendUpdate, "update.add('a', 1)", ''], test(racesTest)),
  mutant('append-takes-no-room', 'counts equal a recount',
    [appendUpdate, "update.add('room', -roomTaken)", ''], simulation(300)),
  mutant('push-beyond-the-capacity-says-try-again', 'an error says whether a repetition helps',
    ['engine/storing/make-lanes.ts', 'items > capacity', 'items < 0'],
    test(capacityTest, 'never fit')),
  mutant('capacity-ignored', 'an append says that there is room',
    [appendUpdate,
     'if (!anyway && roomTaken > 0) update.condition(`room>=${update.value(roomTaken)}`)',
     'void anyway'], test(capacityTest, 'takes exactly as many')),
  mutant('full-tail-ignored', 'the hard cap of the tail',
    [appendUpdate,
     'if (append.bytes > 0) update.condition(`b<=${update.value(tailBytesAllowed(append, limits))}`)',
     ''], test('test/proofs/mutants/answers.test.ts')),
  mutant('lane-made-over-another', 'a missing lane is made if it is absent',
    [appendUpdate, 'update.condition(`attribute_not_exists(${lane})`)', ''], simulation(300)),
  mutant('lane-made-without-its-limit', 'at most 1,000 priorities',
    [appendUpdate, 'update.condition(`size(L)<=${update.value(LANES_MAX - newLanes.size)}`)', ''],
    test('test/engine/many-lanes.test.ts', 'refuses another until one is empty')),
  mutant('lane-made-without-counting', 'rule 3: a lane made ahead of a pop',
    [appendUpdate,
     "LANES_MAX - newLanes.size)}`) update.add('n', newLanes.size)",
     'LANES_MAX - newLanes.size)}`)'], simulation(300, 'priorities')),
  mutant('batch-of-an-open-push-deleted', 'rule 5: it may still land',
    ['engine/storing/write-entries.ts',
     "if (!(error instanceof QueueError) || error.outcome === 'unknown') return",
     'if (!(error instanceof QueueError)) return'], simulation(300)),
  mutant('times-of-any-length', 'a time in a stored text has eight digits',
    ['engine/core/item.ts', '!Number.isInteger(whole) || whole >= TIMES_END_MS', 'false'],
    test('test/engine/core/entry.test.ts', 'eight digits')),
  mutant('clock-with-fractions', 'a time in a stored text has eight digits',
    ['shared/system.ts', 'Math.floor(clock.nowMs())', 'clock.nowMs()'],
    test('test/engine/clock.test.ts', 'with fractions')),
  mutant('full-by-memory', 'rule 7: refusals come from ALL_OLD or a strong read',
    ['engine/verbs/send-append.ts',
     'return act(async () => (known === undefined ?',
     `if (view.record !== undefined && view.record.room < addition.items) throw queueFull(view.record, addition.items)
return act(async () => (known === undefined ?`], test(capacityTest, 'Room returns')),
]
