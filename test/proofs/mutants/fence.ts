// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { edit, type Mutant, simulation, test } from './mutant.ts'

const update = 'engine/store/fenced-update.ts'
const without = (find: string, replace = '') => [edit(update, find, replace)]

/** The fence and what a fenced write says beside it. */
export const fenceMutants: readonly Mutant[] = [
  {
    name: 'fenced-write-without-version',
    rule: 'the fence: version and born',
    edits: without('  update.condition(`v=${update.value(before.version)}`)\n'),
    killers: [simulation(300)],
  },
  {
    name: 'fenced-write-without-born',
    rule: 'the fence: version and born',
    edits: without('  update.condition(`born=${update.value(before.born)}`)\n'),
    killers: [test('test/engine/doubt.test.ts', 'made again')],
  },
  {
    name: 'fenced-write-keeps-version',
    rule: '§6.6 version strictly increases',
    edits: [
      edit('engine/core/fence.ts', 'version: before.version + 1,', 'version: before.version,'),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'fenced-write-puts-the-whole-lane',
    rule: '§5.2 never puts a whole lane',
    edits: without(
      '    else if (next !== lane) changeLane(update, priority, lane, next, begun?.has(priority) === true)',
      '    else if (next !== lane) update.set(`L.${update.name(priority)}`, { e: next.epoch, z: next.segmentSize, h: next.head, f: next.frontier, s: next.sealed, t: [...next.tail], ...encodeLaneOptions(next) })',
    ),
    killers: [simulation(300)],
  },
  {
    name: 'absolute-byte-counter',
    rule: '§5.2 shared counters only by adding',
    edits: without(
      "  update.add('b', after.tailBytes - before.tailBytes)",
      "  update.set('b', after.tailBytes)",
    ),
    killers: [simulation(300)],
  },
  {
    name: 'absolute-room-counter',
    rule: '§5.2 shared counters only by adding',
    edits: without(
      "  update.add('room', after.room - before.room)",
      "  update.set('room', after.room)",
    ),
    killers: [simulation(300)],
  },
  {
    name: 'absolute-in-flight-counter',
    rule: '§5.2 shared counters only by adding',
    edits: without(
      "  update.add('i', after.inFlight - before.inFlight)",
      "  update.set('i', after.inFlight)",
    ),
    killers: [simulation(300)],
  },
  {
    name: 'configure-sets-room-anew',
    rule: '§6.5 counts equal a recount',
    edits: [
      edit(
        'engine/operations/configure.ts',
        'record.room + roomOf(after) - roomOf(before)',
        'roomOf(after)',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'lane-dropped-without-its-size',
    rule: '§5.2 size(tail) where a lane is dropped',
    edits: without('  update.condition(`size(${path}.t)=${update.value(lane.tail.length)}`)\n'),
    killers: [simulation(300, 'reuse')],
  },
  {
    name: 'lock-ended-without-its-expiry',
    rule: 'whatever ends a lock says that it is not done',
    edits: without('    update.condition(`K.${name}.x=${update.value(lock.expiresAtMs)}`)\n'),
    killers: [simulation(300)],
  },
  {
    name: 'ended-claim-leaves-its-start',
    rule: 'the record stays small',
    edits: without('    update.removes.push(`F.${name}`)\n'),
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'timer-set-without-compare',
    rule: '§6.5 checkAt ≤ the earliest expiry',
    edits: without(
      `    update.condition(
      before.checkAtMs === undefined
        ? 'attribute_not_exists(checkAt)'
        : \`checkAt=\${update.value(before.checkAtMs)}\`,
    )
`,
    ),
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'frontier-set-without-compare',
    rule: '§4 a write that depends on the frontier compares claims',
    edits: without('  if (!claims) {\n', '  if (!claims && frontiers.length < 0) {\n'),
    killers: [simulation(300)],
  },
  {
    name: 'guard-of-claims-ignored',
    rule: '§4 a write that depends on the frontier compares claims',
    edits: without('  if (guards.claims) update.condition(`c=${update.value(before.claims)}`)\n'),
    killers: [simulation(300)],
  },
  {
    name: 'guard-of-appends-ignored',
    rule: '§5.3 with more lanes ahead, all appends are compared',
    edits: without('  if (guards.appends) update.condition(`a=${update.value(before.appends)}`)\n'),
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'guard-of-lanes-made-ignored',
    rule: '§5.3 no lane ahead was made meanwhile',
    edits: without(
      '  if (guards.lanesMade) update.condition(`n=${update.value(before.lanesMade)}`)\n',
    ),
    killers: [simulation(300, 'priorities')],
  },
  {
    name: 'guard-of-lanes-ahead-ignored',
    rule: '§5.3 each lane ahead is as seen',
    edits: without(
      '    update.condition(`size(L.${update.name(priority)}.t)=${update.value(size)}`)\n',
      '    void size\n',
    ),
    killers: [simulation(300, 'priorities')],
  },
  {
    name: 'guard-of-the-timer-ignored',
    rule: '§6.3 returned items come first again',
    edits: without(
      '    update.condition(`checkAt>${update.value(guards.checkAtAfterMs)}`)\n',
      '    void guards\n',
    ),
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'only-the-last-mark-is-kept',
    rule: '§5.5 the last 16 marks decide a lost answer',
    edits: [
      edit(
        'engine/core/fence.ts',
        'marks: (before.marks + mark).slice(-MARKS_KEPT * MARK_CHARACTERS),',
        'marks: mark,',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'tries-with-what-it-saw-before-its-pause',
    rule: '§6.7 someone always gets through, and no kind of request starves',
    edits: [
      edit(
        'engine/operations/engine.ts',
        'return losses >= LOOK_AGAIN_AFTER ? readRecord(engine, queue) : current',
        'return current',
      ),
    ],
    killers: [test('test/engine/turns.test.ts', 'a configuration')],
  },
  {
    name: 'holds-claims-that-are-not-there-and-does-not-look-again',
    rule: '§6.7 someone always gets through, and no kind of request starves',
    edits: [
      edit(
        'engine/operations/hold.ts',
        'if (record.locks.size === 0) return readRecord(engine, record.queue)',
        'if (record.locks.size === 0) return record',
      ),
    ],
    killers: [test('test/engine/turns.test.ts', 'a purge')],
  },
]
