// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, simulation, test } from './mutant.ts'

const housekeeping = 'engine/core/housekeeping.ts'
const pointers = 'engine/core/pointers.ts'
const segmentRound = 'engine/operations/segment-round.ts'
const segmentWork = 'engine/operations/segment-work.ts'
const move = 'engine/operations/move.ts'
const forget = 'engine/operations/forget.ts'
const storedRecord = 'engine/core/stored-record.ts'
const racesTest = 'test/proofs/mutants/races.test.ts'

/** Copies, pointers and deletes; dead letters; forgetting. */
export const housekeepingMutants: readonly Mutant[] = [
  mutant(
    'offload-of-a-segment-not-wholly-sealed',
    '§4 offload: full segments, wholly sealed',
    [
      housekeeping,
      'const to = Math.min(segmentOf(lane, lane.sealed), segmentOf(lane, endOf(lane)))',
      'const to = segmentOf(lane, endOf(lane))',
    ],
    simulation(300, 'segments'),
  ),
  mutant(
    'offload-of-a-segment-not-full',
    '§4 offload: every number present',
    [
      housekeeping,
      'const to = Math.min(segmentOf(lane, lane.sealed), segmentOf(lane, endOf(lane)))',
      'const to = Math.min(segmentOf(lane, lane.sealed), segmentOf(lane, endOf(lane))) + 1',
    ],
    simulation(300, 'segments'),
  ),
  mutant(
    'offload-of-the-segment-at-the-frontier',
    '§4 offload: frontier’s segment + buffer < n',
    [
      housekeeping,
      'const firstAllowed = segmentOf(lane, lane.frontier) + bufferSegments + 1',
      'const firstAllowed = segmentOf(lane, lane.frontier) + bufferSegments - bufferSegments',
    ],
    test('test/engine/core/housekeeping.test.ts'),
  ),
  mutant(
    'offloaded-range-with-a-gap',
    '§6.5 offloaded is one contiguous range',
    [
      pointers,
      'if (to < segments.from || to >= segments.to || to < firstAllowed) return lane',
      'void [to, firstAllowed]',
    ],
    simulation(300, 'segments'),
  ),
  mutant(
    'copies-committed-before-they-are-made',
    '§5.1 every pointer has its object',
    [
      segmentRound,
      'act: () => eachOf(offloaded, (n) => copySegment(engine, record, lane, n)),',
      'act: async () => void eachOf(offloaded, (n) => copySegment(engine, record, lane, n)).catch(() => {}),',
    ],
    simulation(300, 'segments'),
  ),
  mutant(
    'originals-deleted-before-the-pointer',
    '§5.1 originals may go once the segment is offloaded',
    [
      [
        segmentRound,
        'await deleteOriginals(engine, record, draft) return done(after)',
        'return done(after)',
      ],
      [
        segmentRound,
        "return { kind: 'write', change, async landed(after) {",
        `return {
  kind: 'act',
  async act() {
    await deleteOriginals(engine, record, draft)
    const committed = await commit(engine, change)
    if (committed.kind === 'lost') return { kind: 'lost', record: committed.current }
    const after = committed.record`,
      ],
      [
        segmentRound,
        "import { attempts } from './attempts.ts'",
        `import { attempts } from './attempts.ts'
import { commit } from './commit.ts'`,
      ],
    ],
    simulation(300, 'segments'),
  ),
  mutant(
    'recall-into-the-keys-of-the-originals',
    '§5.1 a recall copies to rows of another key',
    [
      'engine/store/segment-rows.ts',
      'sk: recalledSortKey(from, from + run.length)',
      'sk: chunkSortKey(from, from + run.length)',
    ],
    test(racesTest),
  ),
  mutant(
    'originals-deleted-with-the-recalled',
    '§5.1 a recall copies to rows of another key',
    [
      segmentWork,
      "rows.filter((row) => !(row.sk as string).startsWith('r'))",
      "rows.filter((row) => (row.sk as string) !== '')",
    ],
    test(racesTest),
  ),
  mutant(
    'recall-deletes-the-object',
    '§5.1 its object lives until trimmed',
    [
      segmentWork,
      'await engine.dynamo.putMany(rows)',
      `await engine.dynamo.putMany(rows)
await engine.objects.deleteMany([segmentObjectKey(record.queue, lane.epoch, priority, segment)])`,
    ],
    simulation(300, 'segments'),
  ),
  mutant(
    'recall-pointer-before-its-rows',
    '§5.1 every pointer has its rows',
    [segmentWork, 'await engine.dynamo.putMany(rows)', 'void rows'],
    simulation(300, 'segments'),
  ),
  mutant(
    'trimmed-raised-before-the-delete',
    '§5.1 trim deletes first and raises `trimmed` after',
    [
      [
        segmentRound,
        'act: () => trimSegments(engine, record, lane, trimmed, lane.head),',
        'act: async () => trims.push(() => trimSegments(engine, record, lane, trimmed, lane.head)),',
      ],
      [
        segmentRound,
        'await deleteOriginals(engine, record, draft)',
        `await deleteOriginals(engine, record, draft)
for (const trim of trims.splice(0)) await trim()`,
      ],
      [
        segmentRound,
        'const SEGMENTS_PER_ROUND =',
        `const trims: (() => Promise<void>)[] = []
const SEGMENTS_PER_ROUND =`,
      ],
    ],
    test('test/proofs/mutants/left-over.test.ts'),
  ),
  mutant(
    'trim-by-segment',
    '§5.1 rows may go when their `to ≤ head`',
    [
      segmentWork,
      'const settled = rows.filter((row) => parseChunkSortKey(row.sk as string).to <= behind)',
      'const settled = rows',
    ],
    test(racesTest),
  ),
  mutant(
    'trim-of-the-segment-of-the-head',
    '§5.1 rows may go when their `to ≤ head`',
    [
      housekeeping,
      'const to = segmentOf(lane, Math.min(lane.head, lane.sealed))',
      'const to = segmentOf(lane, Math.min(lane.head, lane.sealed)) + 1',
    ],
    simulation(300, 'segments'),
  ),
  mutant(
    'batch-part-deleted-while-needed',
    '§5.1 a part goes when nobody can read from it',
    [
      segmentWork,
      'if (isSpent(lane, start + part * size, to)) spent.push(part)',
      'if (to > 0) spent.push(part)',
    ],
    simulation(300),
  ),
  mutant(
    'batch-in-s3-deleted-by-the-part',
    '§5.1 a part goes when nobody can read from it',
    [
      segmentWork,
      "const size = reference.storage === 's3' ? reference.count : reference.partItems",
      'const size = reference.partItems',
    ],
    simulation(300),
  ),
  mutant(
    'tail-batch-deleted-while-needed',
    '§5.1 a delete needs a licence',
    [pointers, 'if (end > lane.head) break', ''],
    simulation(300),
  ),
  mutant(
    'lane-dropped-that-grew-again',
    '§5.2 size(tail) where a lane is dropped',
    [
      pointers,
      'if (done.dropAt === lane.sealed && isDrained(next, moved.lane))',
      'if (done.dropAt !== undefined)',
    ],
    simulation(300, 'reuse'),
  ),
  mutant(
    'lane-dropped-with-rows-sealed-since',
    'nothing is left over',
    [
      pointers,
      'if (done.dropAt === lane.sealed && isDrained(',
      'if (done.dropAt !== undefined && isDrained(',
    ],
    test(racesTest),
  ),
  mutant(
    'late-copy-takes-the-last-pointer-to-a-batch',
    'nothing is left over',
    [
      segmentWork,
      'const lane = isThere ? now : (planned.lanes.get(priority) as Lane)',
      'const lane = planned.lanes.get(priority) as Lane',
    ],
    test(racesTest, 'not wanted any more'),
  ),
  mutant(
    'pointers-moved-in-another-life',
    '§2 epoch: the lane is another one by now',
    [
      pointers,
      'if (lane === undefined || lane.epoch !== done.epoch) continue',
      'if (lane === undefined) continue',
    ],
    test(racesTest),
  ),
  mutant(
    'dead-letter-appends-then-settles',
    '§4 an item is never in both queues',
    [
      move,
      'const committed = await commitBeside(engine, change, beside)',
      `await engine.dynamo.update(recordKey(to), appendUpdate(addition, limits, { anyway: true }))
const committed = await commitBeside(engine, change, [])`,
    ],
    simulation(300, 'deaths'),
  ),
  mutant(
    'dead-letter-settles-then-appends',
    '§4 an item is never in neither queue',
    [
      move,
      'const committed = await commitBeside(engine, change, beside)',
      `const committed = await commitBeside(engine, change, [])
if (committed.kind === 'committed') await engine.dynamo.update(recordKey(to), appendUpdate(addition, limits, { anyway: true }))`,
    ],
    simulation(300, 'deaths'),
  ),
  mutant(
    'forgotten-while-an-ending-is-news',
    '§7 acknowledge repeated: the first answer again',
    [
      forget,
      'record.lanes.size > 0 || !isQuiet(record, engine.clock.nowMs())',
      'record.lanes.size > 0 || !isForgettable(record)',
    ],
    simulation(300, 'reuse'),
  ),
  mutant(
    'forget-without-version',
    'forget: nothing at all happened since',
    [
      [
        forget,
        'AND v=:v AND born=:born AND a=:a AND c=:c AND n=:n`',
        'AND born=:born AND a=:a AND c=:c AND n=:n`',
      ],
      [forget, "':v': record.version,", ''],
    ],
    test(racesTest),
  ),
  mutant(
    'forget-without-appends',
    'forget: nothing at all happened since',
    [
      [
        forget,
        'AND v=:v AND born=:born AND a=:a AND c=:c AND n=:n`',
        'AND v=:v AND born=:born AND c=:c`',
      ],
      [forget, "':a': record.appends,", ''],
      [forget, "':n': record.lanesMade,", ''],
    ],
    simulation(300, 'reuse'),
  ),
  mutant(
    'forget-without-born',
    'the fence: version and born',
    [
      [
        forget,
        'AND v=:v AND born=:born AND a=:a AND c=:c AND n=:n`',
        'AND v=:v AND a=:a AND c=:c AND n=:n`',
      ],
      [forget, "':born': record.born,", ''],
    ],
    test(racesTest),
  ),
  mutant(
    'no-timer-where-housekeeping-failed',
    '§4 a run that cannot finish sets checkAt',
    [
      'engine/operations/housekeep-record.ts',
      'await lookAgain(engine, queue) return report',
      'return report',
    ],
    test('test/engine/housekeep.test.ts', 'that S3 refuses leaves a timer'),
  ),
  mutant(
    'segment-size-of-the-configuration',
    '§5.10 a lane’s segment size is fixed with its epoch',
    [
      [
        storedRecord,
        'segmentSize: stored.z, head: stored.h,',
        `segmentSize: sizeNow,
head: stored.h,`,
      ],
      [
        storedRecord,
        'lanes.set(Number(priority), decodeLane(Number(priority), lane))',
        'lanes.set(Number(priority), decodeLane(Number(priority), lane, stored.cfg?.z ?? lane.z))',
      ],
      [
        storedRecord,
        'function decodeLane(priority: number, stored: StoredLane): Lane {',
        'function decodeLane(priority: number, stored: StoredLane, sizeNow: number): Lane {',
      ],
    ],
    simulation(300),
  ),
  mutant(
    'capacity-hides-that-a-dead-letter-tail-is-full',
    '§6.7 every queue drains',
    [
      move,
      'obstacleTo({ ...addition, items: 0 }, target, limits)',
      'obstacleTo(addition, target, limits)',
    ],
    test('test/engine/dead-letter.test.ts', 'over its capacity'),
  ),
]
