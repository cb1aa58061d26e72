// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, simulation, test } from './mutant.ts'

const named = 'engine/core/named.ts'
const fencedUpdate = 'engine/store/fenced-update.ts'
const byId = 'engine/operations/attempts/by-id.ts'
const cancelTest = 'test/engine/cancel.test.ts'
const updateTest = 'test/engine/store/fenced-update.test.ts'
const retriesTest = 'test/engine/by-id-retries.test.ts'
const moveTest = 'test/engine/move-items.test.ts'

/** Items that are taken out by their ids, wherever in their lanes they wait. */
// biome-ignore format: a mutant is a row
export const byIdMutants: readonly Mutant[] = [
  mutant('claim-passes-over-what-was-taken-out', '0037 a claim that has not seen a gap must fail',
    [named, 'returns: settled.returns + 1', 'returns: settled.returns'],
    test(cancelTest), test('test/proofs/mutants/races.test.ts')),
  mutant('gap-in-a-record-of-format-1', '0037 an engine that claims past gaps leaves the record alone',
    [named, 'record.timed || [...settled.lanes.values()].some(hasGapAhead)', 'record.timed && hasGapAhead !== undefined'],
    test('test/engine/formats.test.ts')),
  mutant('redrive-leaves-gaps', '0037 a plain redrive is for engines of every age',
    ['engine/operations/moving/redrive.ts', 'isNamed ? takeOut', 'isNamed || !isNamed ? takeOut'],
    test('test/engine/formats.test.ts')),
  mutant('take-out-what-a-claim-has-locked', '0037 a claim that has come past the item has it',
    [fencedUpdate, "if (takenOut !== undefined) update.condition(`${path('f')}<=${update.value(takenOut)}`)", ''],
    test(cancelTest), simulation(300)),
  mutant('gap-behind-the-frontier-guards-it', '0037 a fold beside a gap compares no frontier behind it',
    [fencedUpdate, '.find(({ to }) => to > after.frontier)', '[0]'],
    test(updateTest)),
  mutant('claim-runs-into-a-gap', '0037 a claim takes numbers in a row',
    ['engine/core/claim.ts', 'const end = first.to',
     'const end = (free.at(-1) as { to: number }).to'], test(cancelTest), simulation(300)),
  mutant('head-passes-the-frontier', '§6.5 head ≤ frontier ≤ end',
    ['engine/core/settling.ts', 'frontier: Math.max(lane.frontier, head),', ''], simulation(300)),
  mutant('cancel-takes-what-is-locked', '§6.4 a live lock keeps its items',
    [named, "else if (isHolding(found, nowMs)) others.set(item.id, 'locked')", ''],
    test(cancelTest)),
  mutant('cancel-from-memory', 'rule 7: memory says neither gone nor locked',
    [byId, "from: 'store',", "from: 'memory-or-store',"], test(cancelTest), simulation(300)),
  mutant('gaps-fill-the-record', 'a record holds 2,000 of them at the most',
    [named, 'return record.inFlight <= inFlightMax ? { inFlightMax } : undefined',
     'return { inFlightMax: inFlightMax + 1_000_000 }'], test(retriesTest, 'full')),
  mutant('gaps-without-end', '0037 half of what a record holds is left to locks',
    [named, 'if (gaps > GAPS_MAX && gaps > gapsIn(record)) return undefined', 'void [GAPS_MAX, gaps]'],
    test(cancelTest, 'half of what a record')),
  mutant('cancel-in-a-lane-made-anew', '§6.1 an id names one item for ever',
    [named, 'if (lane?.epoch !== epoch) return false', 'if (lane === undefined) return false\nvoid epoch'],
    test(cancelTest)),
  mutant('expired-locks-keep-their-items', 'a cancel ends what a pop would end',
    [byId, 'if (!hasAny(record, isOver)) return undefined', 'return undefined'], test(cancelTest),
    simulation(300)),
  mutant('moved-entries-cut-from-the-tail-they-go-to', 'one update names a list once',
    ['engine/core/fence.ts',
     'if (lane === was || lane.tail.length > (was?.tail.length ?? 0)) continue',
     'if (lane === was) continue'], test(moveTest), simulation(300)),
  mutant('move-into-a-full-tail', 'the tail has a cap for every append',
    [fencedUpdate, 'if (guards.tailBytesMax !== undefined) update.condition(`b<=${update.value(guards.tailBytesMax)}`)', ''],
    test(updateTest)),
  mutant('move-ignores-the-capacity', 'items are new to another queue',
    ['engine/operations/moving/move-items.ts', '{ capacityCounts: true }', '{ capacityCounts: false }'],
    test(moveTest)),
  mutant('new-id-of-the-wrong-end', 'a new id leads to its item',
    ['engine/operations/moving/find-moved.ts',
     'reduce((end, entry) => end - spanOf(entry), endOf(lane))', 'reduce((end) => end, endOf(lane))'],
    test(moveTest)),
  mutant('retry-counted-as-held', 'nobody holds what waits for its retry',
    [named, 'isLive(found[1], nowMs) && !isRetry(found[0])', 'isLive(found[1], nowMs) && isRetry !== undefined'],
    test(retriesTest)),
  mutant('move-that-wakes-nobody', 'every append takes the mark back',
    ['engine/core/fence.ts', 'const bringsBack = isAppended ||', 'const bringsBack = begun !== undefined ||'],
    test(retriesTest, 'awake')),
  mutant('too-many-locks-for-a-write', 'an expression has room for so many locks',
    [named, '|| locks.size > LOCKS_PER_WRITE', '|| LOCKS_PER_WRITE < 0'],
    test(retriesTest, 'room')),
  mutant('purged-item-stays-in-its-lock', 'a lock holds nothing that is settled',
    [named, 'subtract([range], stretchesIn(stretches, priority))', '[range]'],
    test(moveTest, 'purge by ids')),
]
