// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, simulation, test } from './mutant.ts'

const fencedUpdate = 'engine/store/fenced-update.ts'
const racesTest = 'test/proofs/mutants/races.test.ts'

/** The fence and what a fenced write says beside it. */
export const fenceMutants: readonly Mutant[] = [
  mutant(
    'fenced-write-without-version',
    'the fence: version and born',
    [fencedUpdate, 'update.condition(`v=${update.value(before.version)}`)', ''],
    simulation(300),
  ),
  mutant(
    'fenced-write-without-born',
    'the fence: version and born',
    [fencedUpdate, 'update.condition(`born=${update.value(before.born)}`)', ''],
    test('test/engine/doubt.test.ts', 'made again'),
  ),
  mutant(
    'fenced-write-keeps-version',
    '§6.6 version strictly increases',
    ['engine/core/fence.ts', 'version: before.version + 1,', 'version: before.version,'],
    simulation(300),
  ),
  mutant(
    'fenced-write-puts-the-whole-lane',
    '§5.2 never puts a whole lane',
    [
      fencedUpdate,
      'else if (next !== lane) changeLane(update, lane, next, begun?.has(priority) === true)',
      'else if (next !== lane) update.set(`L.${update.name(priority)}`, { e: next.epoch, z: next.segmentSize, h: next.head, f: next.frontier, s: next.sealed, t: [...next.tail], ...encodeLaneOptions(next) })',
    ],
    simulation(300),
  ),
  mutant(
    'absolute-byte-counter',
    '§5.2 shared counters only by adding',
    [
      fencedUpdate,
      "update.add('b', after.tailBytes - before.tailBytes)",
      "update.set('b', after.tailBytes)",
    ],
    simulation(300),
  ),
  mutant(
    'absolute-room-counter',
    '§5.2 shared counters only by adding',
    [
      fencedUpdate,
      "update.add('room', after.room - before.room)",
      "update.set('room', after.room)",
    ],
    simulation(300),
  ),
  mutant(
    'absolute-in-flight-counter',
    '§5.2 shared counters only by adding',
    [
      fencedUpdate,
      "update.add('i', after.inFlight - before.inFlight)",
      "update.set('i', after.inFlight)",
    ],
    simulation(300),
  ),
  mutant(
    'configure-sets-room-anew',
    '§6.5 counts equal a recount',
    [
      'engine/operations/configure.ts',
      'record.room + roomOf(after) - roomOf(before)',
      'roomOf(after)',
    ],
    simulation(300),
  ),
  mutant(
    'lane-dropped-without-its-size',
    '§5.2 size(tail) where a lane is dropped',
    [fencedUpdate, 'update.condition(`size(${path}.t)=${update.value(lane.tail.length)}`)', ''],
    simulation(300, 'reuse'),
  ),
  mutant(
    'lock-ended-without-its-expiry',
    'whatever ends a lock says that it is not done',
    [fencedUpdate, 'update.condition(`K.${name}.x=${update.value(lock.expiresAtMs)}`)', ''],
    simulation(300),
  ),
  mutant(
    'ended-claim-leaves-its-start',
    'the record stays small',
    [fencedUpdate, 'update.removes.push(`F.${name}`)', ''],
    test(racesTest),
  ),
  mutant(
    'timer-set-without-compare',
    '§6.5 checkAt ≤ the earliest expiry',
    [
      fencedUpdate,
      "update.condition( before.checkAtMs === undefined ? 'attribute_not_exists(checkAt)' : `checkAt=${update.value(before.checkAtMs)}`, )",
      '',
    ],
    test(racesTest),
  ),
  mutant(
    'frontier-set-without-compare',
    '§4 a write that depends on the frontier compares claims',
    [fencedUpdate, 'if (!claims) {', 'if (!claims && frontiers.length < 0) {'],
    simulation(300),
  ),
  mutant(
    'guard-of-claims-ignored',
    '§4 a write that depends on the frontier compares claims',
    [fencedUpdate, 'if (guards.claims) update.condition(`c=${update.value(before.claims)}`)', ''],
    simulation(300),
  ),
  mutant(
    'guard-of-appends-ignored',
    '§5.3 with more lanes ahead, all appends are compared',
    [fencedUpdate, 'if (guards.appends) update.condition(`a=${update.value(before.appends)}`)', ''],
    test(racesTest),
  ),
  mutant(
    'guard-of-lanes-made-ignored',
    '§5.3 no lane ahead was made meanwhile',
    [
      fencedUpdate,
      'if (guards.lanesMade) update.condition(`n=${update.value(before.lanesMade)}`)',
      '',
    ],
    simulation(300, 'priorities'),
  ),
  mutant(
    'guard-of-lanes-ahead-ignored',
    '§5.3 each lane ahead is as seen',
    [
      fencedUpdate,
      'update.condition(`size(L.${update.name(priority)}.t)=${update.value(size)}`)',
      'void size',
    ],
    simulation(300, 'priorities'),
  ),
  mutant(
    'guard-of-the-timer-ignored',
    '§6.3 returned items come first again',
    [
      fencedUpdate,
      'update.condition(`checkAt>${update.value(guards.checkAtAfterMs)}`)',
      'void guards',
    ],
    test(racesTest),
  ),
  mutant(
    'only-the-last-mark-is-kept',
    '§5.5 the last 16 marks decide a lost answer',
    [
      'engine/core/fence.ts',
      'marks: (before.marks + mark).slice(-MARKS_KEPT * MARK_CHARACTERS),',
      'marks: mark,',
    ],
    simulation(300),
  ),
  mutant(
    'tries-with-what-it-saw-before-its-pause',
    '§6.7 someone always gets through, and no kind of request starves',
    ['engine/operations/attempts.ts', 'run.losses >= looksFrom', 'run.losses < 0'],
    test('test/engine/turns.test.ts', 'a configuration'),
  ),
  mutant(
    'holds-claims-that-are-not-there-and-does-not-look-again',
    '§6.7 someone always gets through, and no kind of request starves',
    [
      'engine/operations/hold.ts',
      'if (record.locks.size === 0) return readRecord(engine, record.queue)',
      'if (record.locks.size === 0) return record',
    ],
    test('test/engine/turns.test.ts', 'a purge'),
  ),
]
