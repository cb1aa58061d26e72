// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { edit, type Mutant, simulation, test } from './mutant.ts'

const work = 'engine/operations/segment-work.ts'

/** Copies, pointers and deletes; dead letters; forgetting. */
export const housekeepingMutants: readonly Mutant[] = [
  {
    name: 'offload-of-a-segment-not-wholly-sealed',
    rule: '§4 offload: full segments, wholly sealed',
    edits: [
      edit(
        'engine/core/housekeeping.ts',
        '  const to = Math.min(segmentOf(lane, lane.sealed), segmentOf(lane, endOf(lane)))\n',
        '  const to = segmentOf(lane, endOf(lane))\n',
      ),
    ],
    killers: [simulation(300, 'segments')],
  },
  {
    name: 'offload-of-a-segment-not-full',
    rule: '§4 offload: every number present',
    edits: [
      edit(
        'engine/core/housekeeping.ts',
        '  const to = Math.min(segmentOf(lane, lane.sealed), segmentOf(lane, endOf(lane)))\n',
        '  const to = Math.min(segmentOf(lane, lane.sealed), segmentOf(lane, endOf(lane))) + 1\n',
      ),
    ],
    killers: [simulation(300, 'segments')],
  },
  {
    name: 'offload-of-the-segment-at-the-frontier',
    rule: '§4 offload: frontier’s segment + buffer < n',
    edits: [
      edit(
        'engine/core/housekeeping.ts',
        '  const firstAllowed = segmentOf(lane, lane.frontier) + bufferSegments + 1\n',
        '  const firstAllowed = segmentOf(lane, lane.frontier) + bufferSegments - bufferSegments\n',
      ),
    ],
    killers: [test('test/engine/core/housekeeping.test.ts')],
  },
  {
    name: 'offloaded-range-with-a-gap',
    rule: '§6.5 offloaded is one contiguous range',
    edits: [
      edit(
        'engine/core/pointers.ts',
        '  if (to < segments.from || to >= segments.to || to < firstAllowed) return lane\n',
        '  void [to, firstAllowed]\n',
      ),
    ],
    killers: [simulation(300, 'segments')],
  },
  {
    name: 'copies-committed-before-they-are-made',
    rule: '§5.1 every pointer has its object',
    edits: [
      edit(
        'engine/operations/housekeep.ts',
        '      eachOf(offloaded, (n) => copySegment(engine, record, priority, lane, n)),\n',
        '      void eachOf(offloaded, (n) => copySegment(engine, record, priority, lane, n)).catch(() => {}) as never,\n',
      ),
    ],
    killers: [simulation(300, 'segments')],
  },
  {
    name: 'originals-deleted-before-the-pointer',
    rule: '§5.1 originals may go once the segment is offloaded',
    edits: [
      edit(
        'engine/operations/housekeep.ts',
        '      await deleteOriginals(engine, record, draft)\n',
        '',
      ),
      edit(
        'engine/operations/housekeep.ts',
        '    const committed = await commit(engine, change)\n',
        '    await deleteOriginals(engine, record, draft)\n    const committed = await commit(engine, change)\n',
      ),
    ],
    killers: [simulation(300, 'segments')],
  },
  {
    name: 'recall-into-the-keys-of-the-originals',
    rule: '§5.1 a recall copies to rows of another key',
    edits: [
      edit(
        'engine/store/segments.ts',
        'sk: recalledSortKey(from, from + run.length)',
        'sk: chunkSortKey(from, from + run.length)',
      ),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'originals-deleted-with-the-recalled',
    rule: '§5.1 a recall copies to rows of another key',
    edits: [
      edit(
        work,
        "rows.filter((row) => !(row.sk as string).startsWith('r'))",
        "rows.filter((row) => (row.sk as string) !== '')",
      ),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'recall-deletes-the-object',
    rule: '§5.1 its object lives until trimmed',
    edits: [
      edit(
        work,
        '  await engine.dynamo.putMany(rows)\n',
        '  await engine.dynamo.putMany(rows)\n  await engine.objects.deleteMany([segmentObjectKey(record.queue, lane.epoch, priority, segment)])\n',
      ),
    ],
    killers: [simulation(300, 'segments')],
  },
  {
    name: 'recall-pointer-before-its-rows',
    rule: '§5.1 every pointer has its rows',
    edits: [edit(work, '  await engine.dynamo.putMany(rows)\n', '  void rows\n')],
    killers: [simulation(300, 'segments')],
  },
  {
    name: 'trimmed-raised-before-the-delete',
    rule: '§5.1 trim deletes first and raises `trimmed` after',
    edits: [
      edit(
        'engine/operations/housekeep.ts',
        '      trimSegments(engine, record, priority, lane, trimmed, lane.head),\n    )\n',
        '      Promise.resolve(trims.push(() => trimSegments(engine, record, priority, lane, trimmed, lane.head))),\n    )\n',
      ),
      edit(
        'engine/operations/housekeep.ts',
        '      await deleteOriginals(engine, record, draft)\n',
        '      await deleteOriginals(engine, record, draft)\n      for (const trim of trims.splice(0)) await trim()\n',
      ),
      edit(
        'engine/operations/housekeep.ts',
        '/** What one run may do',
        'const trims: (() => Promise<void>)[] = []\n\n/** What one run may do',
      ),
    ],
    killers: [test('test/proofs/mutants/left-over.test.ts')],
  },
  {
    name: 'trim-by-segment',
    rule: '§5.1 rows may go when their `to ≤ head`',
    edits: [
      edit(
        work,
        '    const settled = rows.filter((row) => parseChunkSortKey(row.sk as string).to <= behind)\n',
        '    const settled = rows\n',
      ),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'trim-of-the-segment-of-the-head',
    rule: '§5.1 rows may go when their `to ≤ head`',
    edits: [
      edit(
        'engine/core/housekeeping.ts',
        '  const to = segmentOf(lane, Math.min(lane.head, lane.sealed))\n',
        '  const to = segmentOf(lane, Math.min(lane.head, lane.sealed)) + 1\n',
      ),
    ],
    killers: [simulation(300, 'segments')],
  },
  {
    name: 'batch-part-deleted-while-needed',
    rule: '§5.1 a part goes when nobody can read from it',
    edits: [
      edit(
        work,
        '      if (isSpent(lane, start + part * size, to)) spent.push(part)\n',
        '      if (to > 0) spent.push(part)\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'batch-in-s3-deleted-by-the-part',
    rule: '§5.1 a part goes when nobody can read from it',
    edits: [
      edit(
        work,
        "    const size = reference.storage === 's3' ? reference.count : reference.partItems\n",
        '    const size = reference.partItems\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'tail-batch-deleted-while-needed',
    rule: '§5.1 a delete needs a licence',
    edits: [edit('engine/core/pointers.ts', '    if (end > lane.head) break\n', '')],
    killers: [simulation(300)],
  },
  {
    name: 'lane-dropped-that-grew-again',
    rule: '§5.2 size(tail) where a lane is dropped',
    edits: [
      edit(
        'engine/core/pointers.ts',
        '    if (done.dropAt === lane.sealed && isDrained(next, done.priority, moved.lane))\n',
        '    if (done.dropAt !== undefined)\n',
      ),
    ],
    killers: [simulation(300, 'reuse')],
  },
  {
    name: 'lane-dropped-with-rows-sealed-since',
    rule: 'nothing is left over',
    edits: [
      edit(
        'engine/core/pointers.ts',
        '    if (done.dropAt === lane.sealed && isDrained(',
        '    if (done.dropAt !== undefined && isDrained(',
      ),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'late-copy-takes-the-last-pointer-to-a-batch',
    rule: 'nothing is left over',
    edits: [
      edit(
        'engine/operations/segment-work.ts',
        'const lane = isThere ? now : (planned.lanes.get(priority) as Lane)',
        'const lane = planned.lanes.get(priority) as Lane',
      ),
    ],
    killers: [test('test/proofs/mutants/races.test.ts', 'not wanted any more')],
  },
  {
    name: 'pointers-moved-in-another-life',
    rule: '§2 epoch: the lane is another one by now',
    edits: [
      edit(
        'engine/core/pointers.ts',
        '    if (lane === undefined || lane.epoch !== done.epoch) continue\n',
        '    if (lane === undefined) continue\n',
      ),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'dead-letter-appends-then-settles',
    rule: '§4 an item is never in both queues',
    edits: [
      edit(
        'engine/operations/move.ts',
        '  const committed = await commit(engine, change, { beside })\n',
        '  await engine.dynamo.update(recordKey(to), appendUpdate(addition, limits, { anyway: true }))\n  void beside\n  const committed = await commit(engine, change)\n',
      ),
    ],
    killers: [simulation(300, 'deaths')],
  },
  {
    name: 'dead-letter-settles-then-appends',
    rule: '§4 an item is never in neither queue',
    edits: [
      edit(
        'engine/operations/move.ts',
        '  const committed = await commit(engine, change, { beside })\n',
        "  void beside\n  const committed = await commit(engine, change)\n  if (committed.kind === 'committed') await engine.dynamo.update(recordKey(to), appendUpdate(addition, limits, { anyway: true }))\n",
      ),
    ],
    killers: [simulation(300, 'deaths')],
  },
  {
    name: 'forgotten-while-an-ending-is-news',
    rule: '§7 acknowledge repeated: the first answer again',
    edits: [
      edit(
        'engine/operations/forget.ts',
        'record.lanes.size > 0 || !isQuiet(record, engine.clock.nowMs())',
        'record.lanes.size > 0 || !isForgettable(record)',
      ),
    ],
    killers: [simulation(300, 'reuse')],
  },
  {
    name: 'forget-without-version',
    rule: 'forget: nothing at all happened since',
    edits: [
      edit(
        'engine/operations/forget.ts',
        ' AND v=:v AND born=:born AND a=:a AND c=:c AND n=:n`',
        ' AND born=:born AND a=:a AND c=:c AND n=:n`',
      ),
      edit('engine/operations/forget.ts', "      ':v': record.version,\n", ''),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'forget-without-appends',
    rule: 'forget: nothing at all happened since',
    edits: [
      edit(
        'engine/operations/forget.ts',
        ' AND v=:v AND born=:born AND a=:a AND c=:c AND n=:n`',
        ' AND v=:v AND born=:born AND c=:c`',
      ),
      edit('engine/operations/forget.ts', "      ':a': record.appends,\n", ''),
      edit('engine/operations/forget.ts', "      ':n': record.lanesMade,\n", ''),
    ],
    killers: [simulation(300, 'reuse')],
  },
  {
    name: 'forget-without-born',
    rule: 'the fence: version and born',
    edits: [
      edit(
        'engine/operations/forget.ts',
        ' AND v=:v AND born=:born AND a=:a AND c=:c AND n=:n`',
        ' AND v=:v AND a=:a AND c=:c AND n=:n`',
      ),
      edit('engine/operations/forget.ts', "      ':born': record.born,\n", ''),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'no-timer-where-housekeeping-failed',
    rule: '§4 a run that cannot finish sets checkAt',
    edits: [
      edit(
        'engine/operations/housekeep.ts',
        '  await lookAgain(engine, queue)\n  return report\n',
        '  return report\n',
      ),
    ],
    killers: [test('test/engine/housekeep.test.ts', 'that S3 refuses leaves a timer')],
  },
  {
    name: 'segment-size-of-the-configuration',
    rule: '§5.10 a lane’s segment size is fixed with its epoch',
    edits: [
      edit(
        'engine/core/stored-record.ts',
        '    segmentSize: stored.z,\n    head: stored.h,',
        '    segmentSize: sizeNow,\n    head: stored.h,',
      ),
      edit(
        'engine/core/stored-record.ts',
        '    lanes.set(Number(priority), decodeLane(lane))\n',
        '    lanes.set(Number(priority), decodeLane(lane, stored.cfg?.z ?? lane.z))\n',
      ),
      edit(
        'engine/core/stored-record.ts',
        'function decodeLane(stored: StoredLane): Lane {',
        'function decodeLane(stored: StoredLane, sizeNow: number): Lane {',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'capacity-hides-that-a-dead-letter-tail-is-full',
    rule: '§6.7 every queue drains',
    edits: [
      edit(
        'engine/operations/move.ts',
        'obstacleTo({ ...addition, items: 0 }, target, limits)',
        'obstacleTo(addition, target, limits)',
      ),
    ],
    killers: [test('test/engine/dead-letter.test.ts', 'over its capacity')],
  },
]
