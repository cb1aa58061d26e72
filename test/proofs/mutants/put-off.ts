import { type Mutant, mutant, test } from './mutant.ts'

const putOff = 'engine/verbs/place-later.ts'
const moveWaiting = 'engine/verbs/move.ts'
const moving = 'engine/core/moved-items.ts'
const place = 'engine/verbs/place-later.ts'
const updates = 'engine/requests/later-rows.ts'
const putOffTest = 'test/engine/put-off.test.ts'
const expiryTest = 'test/engine/put-off-expiry.test.ts'
const costTest = 'test/engine/put-off-cost.test.ts'
const racesTest = 'test/engine/put-off-races.test.ts'

/** A move of items that wait to a time ahead: in one place at any time, and there when it comes. */
// biome-ignore format: a mutant is a row
export const putOffMutants: readonly Mutant[] = [
  mutant('put-off-and-not-counted', '0039 what is scheduled is counted',
    ['engine/requests/fenced-update.ts', 'if (after.scheduled !== before.scheduled) {', 'if (after.scheduled === undefined) {'],
    test(putOffTest, 'takes items in the record')),
  mutant('put-off-under-the-number-of-the-last', '0037 the row has the number of the next seal',
    [updates, "update.set('tg', seals)", 'void seals'],
    test(putOffTest, 'where a cancel no longer looks')),
  mutant('put-off-without-a-timer', '0039 what is due has its timer',
    ['engine/core/fence.ts', 'earliestExpiryMs(record), scheduledMs,', 'earliestExpiryMs(record), scheduledMs && undefined,'],
    test(putOffTest, 'is an event once it is due')),
  mutant('put-off-without-the-mark', '0040 a record says whether its items may expire',
    [putOff, 'timed: true, scheduled:', 'scheduled:'],
    test(putOffTest, 'is an event once it is due')),
  mutant('put-off-without-a-seal', '0039 nobody looks for an entry behind so many seals',
    [putOff, 'if (mustSealBefore(target, due)) {', 'if (!mustSealBefore) {'],
    test(putOffTest, 'where a cancel no longer looks')),
  mutant('put-off-brings-the-expired-back', '0037 what is over stays over',
    [moving, 'if (isAnew || !hasExpired(entry, record, times.nowMs)) return item', 'if (!isAnew || !hasExpired(entry, record, times.nowMs)) return item'],
    test(expiryTest, 'in a queue whose items never expire')),
  mutant('put-off-dead-letters-age-until-due', '0037 the time of a dead letter that is put off begins when it is due',
    ['engine/core/expiry.ts', 'Math.max(deadLetteredAtMs ?? pushedAtMs, dueMs, redrivenMs)', 'deadLetteredAtMs ?? Math.max(pushedAtMs, dueMs, redrivenMs)'],
    test(expiryTest, 'for the whole time of its queue')),
  mutant('put-off-dead-letters-forget-their-ids', '0037 a dead letter tells when it was due, and its scheduled id',
    ['engine/core/item.ts', 'if (value === undefined) continue', 'if (value === undefined || (item.reason !== undefined && /[ds]/.test(kept))) continue'],
    test(expiryTest, 'tells its due time and its scheduled id')),
  mutant('dead-letters-keep-their-due-time', '0039 an item leaves its due time behind when it becomes a dead letter',
    ['engine/storing/move-across.ts', '...lastingOf(decodeItem(entry)), ...death', '...decodeItem(entry), ...death'],
    test(expiryTest, 'when it was due in its queue')),
  mutant('redriven-with-the-due-time-of-a-dead-letter', '0039 an item leaves its due time behind when it comes back',
    ['engine/verbs/redrive.ts', 'items.push(lastingOf(item))', 'items.push({ ...item, reason: undefined, deadLetteredAtMs: undefined })'],
    test(expiryTest, 'goes back to its queue')),
  mutant('moved-back-with-the-due-time-of-a-dead-letter', '0039 an item leaves its due time behind when it comes back',
    [moving, 'return { ...lastingOf(item), ...redriven }', 'return { ...item, reason: undefined, deadLetteredAtMs: undefined, ...redriven }'],
    test(expiryTest, 'goes back to its queue')),
  mutant('put-off-to-now', '0037 a time that is not ahead is none',
    [moveWaiting, 'dueMs === undefined || isNow ? appendMoved', 'dueMs === undefined ? appendMoved'],
    test(putOffTest, 'puts them where they would go without a time')),
  mutant('put-off-what-is-there-now', '0037 a time that is not ahead is none',
    [moveWaiting, '(isNow && lockWith(record, item) === undefined)', '(isNow && lockWith(record, item) !== undefined)'],
    test(putOffTest, 'leaves them where they are')),
  mutant('put-off-to-now-waits-for-its-retry', '0037 what waits for its retry is not there now',
    [moveWaiting, '(isNow && lockWith(record, item) === undefined)', '(isNow && lockWith !== undefined)'],
    test(putOffTest, 'ends their wait for a retry')),
  mutant('put-off-writes-its-batches-for-each-try', 'the batches of a move stay good while it tries',
    [putOff, 'placed = await placedStill(engine, placing, target)', 'placed = (await placedStill(engine, placing, target)) && undefined'],
    test(costTest, 'writes its batches once')),
  mutant('put-off-tries-for-long', 'a move to a busy queue says so soon',
    [putOff, 'const TRIES_MAX = 8', 'const TRIES_MAX = 80'],
    test(costTest, 'gives up after eight tries')),
  mutant('put-off-under-ids-that-lead-nowhere', '0039 nobody looks for an entry behind so many seals',
    [place, 'target.born !== born || isFar || mustSealBefore', 'target.born !== born || mustSealBefore'],
    test(costTest, 'would no longer lead to them')),
  mutant('put-off-with-a-batch-for-tiny-items', 'a batch holds what is worth a write',
    [place, 'const TINY_BYTES = 128', 'const TINY_BYTES = 0'],
    test(costTest, 'writes no batch')),
  mutant('put-off-leaves-batches-where-it-lost', 'a batch that nothing can refer to is deleted',
    [putOff, 'await discardBatches(engine, to, batches)', ''],
    test(racesTest, 'looks again if what is scheduled')),
  mutant('put-off-leaves-batches-where-it-was-refused', 'a batch that nothing can refer to is deleted',
    [putOff, 'await bringing(engine, to, batches, putPlaced(engine, moving, placing))', 'await putPlaced(engine, moving, placing)'],
    test(racesTest, 'leaves no batch behind')),
  mutant('put-off-and-said-that-nothing-changed', 'rule 6: an error after a part was done says that nobody knows',
    ['engine/verbs/move.ts', 'throw hasMoved ? QueueError.partly(named) : named', 'throw named'],
    test(racesTest, 'tells that a part of it may have happened')),
]
