// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, simulation, test } from './mutant.ts'

const lockUpdates = 'engine/requests/blind-updates.ts'
const fence = 'engine/core/fence.ts'
const record = 'engine/core/record.ts'
const locks = 'engine/core/locks.ts'
const settling = 'engine/core/settling.ts'
const partial = 'engine/core/locks.ts'
const purge = 'engine/core/named-items.ts'
const racesTest = 'test/proofs/mutants/races.test.ts'

/** The life of a lock, and of the items that come back from it. */
// biome-ignore format: a mutant is a row
export const lockMutants: readonly Mutant[] = [
  mutant('acknowledge-after-the-expiry', 'a late acknowledge: the items are back',
    [lockUpdates,
     'update.condition(`${expiry}>${update.value(nowMs)}`)',
     'update.condition(`${expiry}>${update.value(nowMs - nowMs)}`)'], simulation(300)),
  mutant('settle-after-the-expiry', 'a late acknowledge: the items are back',
    ['engine/core/locks.ts',
     "if (isLive(lock, nowMs)) return { kind: 'live', lock }",
     "if (isLive(lock, nowMs) || lock.expiresAtMs > 0) return { kind: 'live', lock }"],
    simulation(300)),
  mutant('extend-without-the-timer', 'whatever sets an expiry lowers checkAt',
    [lockUpdates, 'lowerCheckAt(update, seen, expiresAtMs, nowMs)', ''], simulation(300)),
  mutant('extend-without-compare-of-the-timer', 'guarantee 5: checkAt ≤ the earliest expiry',
    ['engine/requests/blind-updates.ts',
     '(checkAtMs === wantedMs) update.condition(`checkAt<=${update.value(atMs)}`)', '(checkAtMs === wantedMs) void 0'],
    test(racesTest)),
  mutant('extend-without-compare-of-the-expiry', 'rule 5: an extension that lands late',
    [lockUpdates,
     'update.condition(`${expiry}=${update.value(lock.expiresAtMs)}`)',
     'update.condition(`attribute_exists(${expiry})`)\nvoid lock'], simulation(300)),
  mutant('extend-does-not-count-itself',
    'whatever depends on locks compares the count of claims',
    [lockUpdates, "update.add('c', 1) return update.build()", 'return update.build()'],
    test(racesTest)),
  mutant('lock-without-the-timer', 'guarantee 5: checkAt ≤ the earliest expiry',
    [fence, 'earliestExpiryMs(record),', 'undefined,'], simulation(300)),
  mutant('sweeper-takes-the-timer-of-live-locks', 'guarantee 5: checkAt ≤ the earliest expiry',
    [fence, 'earliestExpiryMs(record),', 'refresh ? undefined : earliestExpiryMs(record),'],
    simulation(300)),
  mutant('sweeper-moves-the-timer-without-claims', 'guarantee 5: checkAt ≤ the earliest expiry',
    [fence, 'claims: refreshCheckAt ||', 'claims:'], test(racesTest)),
  mutant('sweeper-leaves-done-locks-for-ever',
    'a queue that nobody touches gets its room back',
    [fence, 'refresh && doneLocks(record) > 0 ? nowMs : undefined,', ''],
    test('test/engine/core/fence.test.ts'), test('test/engine/sweep.test.ts')),
  mutant('done-lock-gives-its-items-out-again',
    'guarantee 1: what was acknowledged is never delivered again',
    [record,
     'for (const lock of record.locks.values()) { for (const stretch of lock.stretches) if (stretch.priority === priority) held.push(stretch)',
     `for (const lock of record.locks.values()) {
if (isDone(lock)) continue
for (const stretch of lock.stretches) if (stretch.priority === priority) held.push(stretch)`],
    simulation(300)),
  mutant('done-lock-taken-for-expired', 'guarantee 1: what was acknowledged is never delivered again',
    [record, '!isDone(lock) && !isLive(lock, nowMs)', '!isLive(lock, nowMs)'], simulation(300)),
  mutant('done-locks-folded-again-and-again', 'a lock ends once',
    [locks, 'locks.delete(lockId)', ''], simulation(300)),
  mutant('settling-counts-room-twice', 'counts equal a recount',
    [settling,
     'const settled = intersect(ranges, unsettledIn(lane)) return { lane: settleInLane',
     `const settled = ranges
return { lane: settleInLane`], test('test/engine/core/settling.test.ts')),
  mutant('deliveries-not-raised', 'each return counts one delivery',
    [settling, 'count: piece.count + 1 })', 'count: piece.count })'], simulation(300)),
  mutant('first-return-not-counted', 'each return counts one delivery',
    [settling,
     'return inOrder([...known, ...fresh.map((part) => ({ ...part, count: 1 }))])',
     `void fresh
return inOrder(known)`], simulation(300)),
  mutant('one-delivery-more-than-max-deliveries', 'ranges that came back too often become dead',
    [settling, 'count >= most)', 'count > most)'], simulation(300, 'deaths')),
  mutant('dead-items-are-visible', 'dead: stored, invisible',
    [record,
     'union(union(lane.holes, lockedIn(record, lane.priority)), lane.dead)',
     'union(lane.holes, lockedIn(record, lane.priority))'], simulation(300, 'deaths')),
  mutant('release-does-not-tell-claims', 'a claim: nothing came back to the front',
    [settling, 'return { ...returned, returns: returned.returns + 1 }', 'return returned'],
    simulation(400, 'claims')),
  mutant('return-moves-the-frontier-back', 'expiry: the items are where they always were',
    [settling,
     "reason: 'max_deliveries' })) return { lane: { ...lane, deliveries, dead: inOrder([...lane.dead, ...dead]) }, roomFreed: 0 }",
     `reason: 'max_deliveries' }))
const frontier = Math.min(lane.frontier, raised[0]?.from ?? lane.frontier)
return { lane: { ...lane, frontier, deliveries, dead: inOrder([...lane.dead, ...dead]) }, roomFreed: 0 }`],
    simulation(300)),
  mutant('return-goes-behind-the-frontier-for-good',
    'expiry: the items are where they always were',
    [settling,
     "reason: 'max_deliveries' })) return { lane: { ...lane, deliveries, dead: inOrder([...lane.dead, ...dead]) }, roomFreed: 0 }",
     `reason: 'max_deliveries' }))
return { lane: { ...lane, holes: union(lane.holes, intersect(ranges, unsettledIn(lane))), deliveries, dead: inOrder([...lane.dead, ...dead]) }, roomFreed: 0 }`],
    simulation(300)),
  mutant('partial-acknowledge-settles-the-rest', 'acknowledge settles what it names',
    [partial,
     'return { draft: settle(shrunk, part), items }',
     'return { draft: settle(shrunk, lock.stretches), items }'], simulation(300)),
  mutant('partial-acknowledge-in-another-life', 'epoch: the lane is another one by now',
    [partial,
     'if (place === undefined || (lane !== undefined && lane.epoch !== place.epoch))',
     'if (place === undefined)'], test('test/engine/core/partial.test.ts')),
  mutant('purge-forgets-the-frontier', 'guarantee 5: head ≤ frontier',
    [purge, '{ ...lane, frontier: endOf(lane) }', '{ ...lane }'], test('test/engine/core/purge.test.ts', 'leaves what is dead')),
  mutant('purge-leaves-the-locks', 'purge: locks dropped',
    [purge, 'draft = keptFor(draft, lockId, rest, nowMs) draft = settle(draft, purged)',
     'if (rest.length > 0) draft = keptFor(draft, lockId, rest, nowMs)\ndraft = settle(draft, purged)'], simulation(300)),
  mutant('locks-in-the-order-of-a-map', 'a map has no order in DynamoDB',
    [locks,
     '.sort(([a, one], [b, other]) => one.expiresAtMs - other.expiresAtMs || (a < b ? -1 : 1))',
     ''], test('test/engine/core/locks.test.ts', 'in whatever order')),
]
