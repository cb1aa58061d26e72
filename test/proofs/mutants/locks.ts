// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { edit, type Mutant, simulation, test } from './mutant.ts'

const updates = 'engine/store/lock-updates.ts'

/** The life of a lock, and of the items that come back from it. */
export const lockMutants: readonly Mutant[] = [
  {
    name: 'acknowledge-after-the-expiry',
    rule: '§7 a late acknowledge: the items are back',
    edits: [
      edit(
        updates,
        '  update.condition(`${expiry}>${update.value(nowMs)}`)\n',
        '  update.condition(`${expiry}>${update.value(nowMs - nowMs)}`)\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'settle-after-the-expiry',
    rule: '§7 a late acknowledge: the items are back',
    edits: [
      edit(
        'engine/core/lock-standing.ts',
        "    if (isLive(lock, nowMs)) return { kind: 'live', lock }\n",
        "    if (isLive(lock, nowMs) || lock.expiresAtMs > 0) return { kind: 'live', lock }\n",
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'extend-without-the-timer',
    rule: '§4 whatever sets an expiry lowers checkAt',
    edits: [edit(updates, "    update.set('checkAt', expiresAtMs)\n", '')],
    killers: [simulation(300)],
  },
  {
    name: 'extend-without-compare-of-the-timer',
    rule: '§6.5 checkAt ≤ the earliest expiry',
    edits: [
      edit(
        updates,
        '    update.condition(`checkAt<=${update.value(expiresAtMs)}`)\n  }\n',
        '  }\n',
      ),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'extend-without-compare-of-the-expiry',
    rule: '§5.5 an extension that lands late',
    edits: [
      edit(
        updates,
        '  update.condition(`${expiry}=${update.value(lock.expiresAtMs)}`)\n',
        '  update.condition(`attribute_exists(${expiry})`)\n  void lock\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'extend-does-not-count-itself',
    rule: '§4 whatever depends on locks compares the count of claims',
    edits: [
      edit(updates, "  update.add('c', 1)\n  return update.build()\n", '  return update.build()\n'),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'lock-without-the-timer',
    rule: '§6.5 checkAt ≤ the earliest expiry',
    edits: [edit('engine/core/fence.ts', '    earliestExpiryMs(record),\n', '    undefined,\n')],
    killers: [simulation(300)],
  },
  {
    name: 'sweeper-takes-the-timer-of-live-locks',
    rule: '§6.5 checkAt ≤ the earliest expiry',
    edits: [
      edit(
        'engine/core/fence.ts',
        '    earliestExpiryMs(record),\n',
        '    refresh ? undefined : earliestExpiryMs(record),\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'sweeper-moves-the-timer-without-claims',
    rule: '§6.5 checkAt ≤ the earliest expiry',
    edits: [edit('engine/core/fence.ts', '      ...(refreshCheckAt && { claims: true }),\n', '')],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'sweeper-leaves-done-locks-for-ever',
    rule: '§6.7 a queue that nobody touches gets its room back',
    edits: [
      edit(
        'engine/core/fence.ts',
        '    refresh && doneLocks(record) > 0 ? nowMs : undefined,\n',
        '',
      ),
    ],
    killers: [test('test/engine/core/fence.test.ts'), test('test/engine/sweep.test.ts')],
  },
  {
    name: 'done-lock-gives-its-items-out-again',
    rule: '§6.1 what was acknowledged is never delivered again',
    edits: [
      edit(
        'engine/core/record.ts',
        '  for (const lock of record.locks.values()) {\n    for (const stretch of lock.stretches) if (stretch.priority === priority) held.push(stretch)\n',
        '  for (const lock of record.locks.values()) {\n    if (isDone(lock)) continue\n    for (const stretch of lock.stretches) if (stretch.priority === priority) held.push(stretch)\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'done-lock-taken-for-expired',
    rule: '§6.1 what was acknowledged is never delivered again',
    edits: [
      edit(
        'engine/core/record.ts',
        '  !isDone(lock) && !isLive(lock, nowMs)\n',
        '  !isLive(lock, nowMs)\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'done-locks-folded-again-and-again',
    rule: 'a lock ends once',
    edits: [edit('engine/core/locks.ts', '  locks.delete(lockId)\n', '')],
    killers: [simulation(300)],
  },
  {
    name: 'settling-counts-room-twice',
    rule: '§6.5 counts equal a recount',
    edits: [
      edit(
        'engine/core/settling.ts',
        '    const settled = intersect(ranges, unsettledIn(lane))\n    return { lane: settleInLane',
        '    const settled = ranges\n    return { lane: settleInLane',
      ),
    ],
    killers: [test('test/engine/core/settling.test.ts')],
  },
  {
    name: 'deliveries-not-raised',
    rule: 'each return counts one delivery',
    edits: [edit('engine/core/settling.ts', 'count: piece.count + 1 })', 'count: piece.count })')],
    killers: [simulation(300)],
  },
  {
    name: 'first-return-not-counted',
    rule: 'each return counts one delivery',
    edits: [
      edit(
        'engine/core/settling.ts',
        '  return inOrder([...known, ...fresh.map((part) => ({ ...part, count: 1 }))])\n',
        '  void fresh\n  return inOrder(known)\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'one-delivery-more-than-max-deliveries',
    rule: '§4 ranges that came back too often become dead',
    edits: [edit('engine/core/settling.ts', 'count >= most)', 'count > most)')],
    killers: [simulation(300, 'deaths')],
  },
  {
    name: 'dead-items-are-visible',
    rule: '§4 dead: stored, invisible',
    edits: [
      edit(
        'engine/core/record.ts',
        'union(union(lane.holes, lockedIn(record, priority)), lane.dead)',
        'union(lane.holes, lockedIn(record, priority))',
      ),
    ],
    killers: [simulation(300, 'deaths')],
  },
  {
    name: 'release-does-not-tell-claims',
    rule: '§4 a claim: nothing came back to the front',
    edits: [
      edit(
        'engine/core/settling.ts',
        '  return { ...returned, returns: returned.returns + 1 }\n',
        '  return returned\n',
      ),
    ],
    killers: [simulation(400, 'claims')],
  },
  {
    name: 'redrive-does-not-tell-claims',
    rule: '§4 a claim: nothing came back to the front',
    edits: [
      edit(
        'engine/operations/redrive.ts',
        'returns: settled.returns + 1',
        'returns: settled.returns',
      ),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'return-moves-the-frontier-back',
    rule: '§4 expiry: the items are where they always were',
    edits: [
      edit(
        'engine/core/settling.ts',
        '    return { lane: { ...lane, deliveries, dead: inOrder([...lane.dead, ...dead]) }, roomFreed: 0 }\n',
        '    const frontier = Math.min(lane.frontier, back[0]?.from ?? lane.frontier)\n    return { lane: { ...lane, frontier, deliveries, dead: inOrder([...lane.dead, ...dead]) }, roomFreed: 0 }\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'return-goes-behind-the-frontier-for-good',
    rule: '§4 expiry: the items are where they always were',
    edits: [
      edit(
        'engine/core/settling.ts',
        '    return { lane: { ...lane, deliveries, dead: inOrder([...lane.dead, ...dead]) }, roomFreed: 0 }\n',
        '    return { lane: { ...lane, holes: union(lane.holes, back), deliveries, dead: inOrder([...lane.dead, ...dead]) }, roomFreed: 0 }\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'partial-acknowledge-settles-the-rest',
    rule: '§4 acknowledge settles what it names',
    edits: [
      edit(
        'engine/core/partial.ts',
        '      return { draft: settle(shrunk, part), items }\n',
        '      return { draft: settle(shrunk, lock.stretches), items }\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'partial-acknowledge-in-another-life',
    rule: '§2 epoch: the lane is another one by now',
    edits: [
      edit(
        'engine/core/partial.ts',
        'if (place === undefined || (lane !== undefined && lane.epoch !== place.epoch))',
        'if (place === undefined)',
      ),
    ],
    killers: [test('test/engine/core/partial.test.ts')],
  },
  {
    name: 'purge-forgets-the-frontier',
    rule: '§6.5 head ≤ frontier',
    edits: [edit('engine/core/purge.ts', '{ ...lane, frontier: endOf(lane) }', '{ ...lane }')],
    killers: [simulation(300)],
  },
  {
    name: 'purge-leaves-the-locks',
    rule: '§4 purge: locks dropped',
    edits: [
      edit(
        'engine/core/purge.ts',
        "        : endLock(draft, lockId, 'purged', nowMs)\n",
        '        : draft\n',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'locks-in-the-order-of-a-map',
    rule: 'a map has no order in DynamoDB',
    edits: [
      edit(
        'engine/core/locks.ts',
        '    .sort(([a, one], [b, other]) => one.expiresAtMs - other.expiresAtMs || (a < b ? -1 : 1))\n',
        '',
      ),
    ],
    killers: [test('test/engine/core/locks.test.ts', 'in whatever order')],
  },
]
