// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { edit, type Mutant, simulation, test } from './mutant.ts'

const update = 'engine/store/append-update.ts'
const counters = `  update.add('b', append.bytes)
  update.add('a', 1)
  update.add('room', -append.items)
  return update.build()
}

/**
 * All lanes at once`

/** Appends: blind, and right all the same. */
export const appendMutants: readonly Mutant[] = [
  {
    name: 'append-does-not-count-bytes',
    rule: '§6.5 counts equal a recount',
    edits: [edit(update, counters, counters.replace("  update.add('b', append.bytes)\n", ''))],
    killers: [simulation(300)],
  },
  {
    name: 'append-does-not-count-itself',
    rule: '§5.3 one counter of all appends',
    edits: [edit(update, counters, counters.replace("  update.add('a', 1)\n", ''))],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'append-takes-no-room',
    rule: '§6.5 counts equal a recount',
    edits: [edit(update, counters, counters.replace("  update.add('room', -append.items)\n", ''))],
    killers: [simulation(300)],
  },
  {
    name: 'capacity-ignored',
    rule: '§4 an append says that there is room',
    edits: [
      edit(
        update,
        '  if (!anyway) update.condition(`room>=${update.value(append.items)}`)\n',
        '  void anyway\n',
      ),
    ],
    killers: [test('test/engine/capacity.test.ts', 'takes exactly as many')],
  },
  {
    name: 'full-tail-ignored',
    rule: '§3 the hard cap of the tail',
    edits: [
      edit(
        update,
        '  if (append.bytes > 0) update.condition(`b<=${update.value(tailBytesAllowed(append, limits))}`)\n',
        '',
      ),
    ],
    killers: [test('test/proofs/mutants/answers.test.ts')],
  },
  {
    name: 'lane-made-over-another',
    rule: '§4 a missing lane is made if it is absent',
    edits: [edit(update, '      update.condition(`attribute_not_exists(${lane})`)\n', '')],
    killers: [simulation(300)],
  },
  {
    name: 'lane-made-without-its-limit',
    rule: '§3 at most 1,000 priorities',
    edits: [
      edit(
        update,
        '    update.condition(`size(L)<=${update.value(LANES_MAX - newLanes.size)}`)\n',
        '',
      ),
    ],
    killers: [test('test/engine/many-lanes.test.ts', 'refuses another until one is empty')],
  },
  {
    name: 'lane-made-without-counting',
    rule: '§5.3 a lane made ahead of a pop',
    edits: [
      edit(
        update,
        "LANES_MAX - newLanes.size)}`)\n    update.add('n', newLanes.size)\n",
        'LANES_MAX - newLanes.size)}`)\n',
      ),
    ],
    killers: [simulation(300, 'priorities')],
  },
  {
    name: 'exact-append-without-the-end',
    rule: '§4 an answer tells sequence numbers',
    edits: [
      edit(
        update,
        '      update.condition(`size(${lane}.t)=${update.value(seen.tail.length)}`)\n',
        '',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'exact-append-without-sealed',
    rule: '§4 an answer tells sequence numbers',
    edits: [edit(update, '      update.condition(`${lane}.s=${update.value(seen.sealed)}`)\n', '')],
    killers: [simulation(300)],
  },
  {
    name: 'exact-append-without-epoch',
    rule: '§4 an answer tells sequence numbers',
    edits: [edit(update, '      update.condition(`${lane}.e=${update.value(seen.epoch)}`)\n', '')],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'wide-append-without-version',
    rule: '§5.2 all lanes only under a full compare',
    edits: [edit(update, '  update.condition(`v=${update.value(seen.version)}`)\n', '')],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'wide-append-without-appends',
    rule: '§5.2 all lanes only under a full compare',
    edits: [edit(update, '  update.condition(`a=${update.value(seen.appends)}`)\n', '')],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'wide-append-without-claims',
    rule: '§5.2 all lanes only under a full compare',
    edits: [edit(update, '  update.condition(`c=${update.value(seen.claims)}`)\n', '')],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'wide-append-without-born',
    rule: '§5.2 all lanes only under a full compare',
    edits: [edit(update, '  update.condition(`born=${update.value(seen.born)}`)\n', '')],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'batch-of-an-open-push-deleted',
    rule: '§5.5 it may still land',
    edits: [
      edit(
        'engine/operations/push.ts',
        "  if (!(error instanceof QueueError) || error.outcome === 'unknown') return\n",
        '  if (!(error instanceof QueueError)) return\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'full-by-memory',
    rule: '§5.7 refusals come from ALL_OLD or a strong read',
    edits: [
      edit(
        'engine/operations/append.ts',
        '  let record = engine.memory.get(queue)\n  let waits = 0\n',
        `  let record = engine.memory.get(queue)
  let waits = 0
  if (record !== undefined && record.room < addition.items) throw queueFull(queue, record)
`,
      ),
    ],
    killers: [test('test/engine/capacity.test.ts', 'Room returns')],
  },
]
