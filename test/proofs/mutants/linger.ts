import { type Mutant, mutant, simulation, test } from './mutant.ts'

const transactItem = 'engine/verbs/transact.ts'
const line = 'shared/linger.ts'
const deliver = 'shared/linger.ts'
const lingering = 'shared/linger.ts'
const appendPushes = 'engine/verbs/push.ts'
const lineTest = 'test/foundation/linger/line.test.ts'
const deliverTest = 'test/foundation/linger/deliver.test.ts'
const clientTest = 'test/client/linger.test.ts'
const lingeringTest = 'test/foundation/linger/lingering.test.ts'

/** Pushes that go together: each is answered for itself, and none overtakes another. */
// biome-ignore format: a mutant is a row
export const lingerMutants: readonly Mutant[] = [
  mutant('linger-two-batches-at-once', '0031 the order of calls is the order of items',
    [line, 'if (isFlying || first === undefined)', 'if (first === undefined)'],
    simulation(400, 'lingering')),
  mutant('linger-batch-in-reverse', '0031 the order of calls is the order of items',
    [lingering, 'batch.push(one)', 'batch.unshift(one)'], simulation(200, 'lingering')),
  mutant('linger-answer-of-another', '0031 each call has its own ids',
    [deliver, 'outcomes[index] as Outcome<A>', 'outcomes[0] as Outcome<A>'],
    simulation(200, 'lingering')),
  mutant('linger-stops-after-a-batch', '0031 whatever waits goes',
    [lingering, 'line.freeSinceMs = this.#service.nowMs() this.#proceed(line)',
     'line.freeSinceMs = this.#service.nowMs()'], simulation(200, 'lingering')),
  mutant('linger-cuts-what-may-have-passed', 'rule 5: a lost answer is never guessed',
    [deliver, "if (outcome === 'unknown') return 'all'", 'void outcome'], test(deliverTest)),
  mutant('linger-full-queue-hides-a-repetition', 'guarantee 6: one key has one answer',
    ['engine/verbs/push.ts', 'alike(), await engine.records.read(queue))',
     'alike(), engine.records.recall(queue))'], test('test/engine/keyed-strain.test.ts', 'has lost the record')),
  mutant('linger-full-queue-hides-a-repetition-by-memory', 'rule 7: memory refuses nothing',
    ['engine/verbs/push.ts', 'alike(), await engine.records.read(queue))',
     'alike(), engine.records.recall(queue) ?? (await engine.records.read(queue)))'],
    test('test/engine/keyed-strain.test.ts', 'has an older record')),
  mutant('linger-wrong-time-fails-the-others', '0031 one that is invalid harms no other',
    [deliver, "'INVALID_PARAMETER',", ''], test(clientTest, 'time that only the service')),
  mutant('linger-refuses-what-would-fit', '0031 each call is told its own',
    [deliver, 'itemsNow >= refused.items', 'itemsNow > 0'], test(deliverTest)),
  mutant('linger-refuses-what-is-for-later', '0039 an item takes up no room until it is due',
    [deliver, 'itemsNow >= refused.items', 'items >= refused.items'], test(deliverTest, 'items are for later')),
  mutant('linger-refuses-what-is-for-later-in-the-engine', '0039 an item takes up no room until it is due',
    [['engine/verbs/push.ts', 'itemsNow(first, nowMs)', 'first.push.items.length'],
     ['engine/verbs/push.ts', 'itemsNow(call, nowMs) >= itemsMin',
      'call.push.items.length >= itemsMin']], test('test/engine/later-full.test.ts', 'that linger')),
  mutant('transact-counts-what-is-for-later', '0039 an item takes up no room until it is due',
    [transactItem, 'now.length > 0 && record.room < now.length', 'record.room < items.length'],
    test('test/engine/later-full.test.ts', 'own transaction, more of them')),
  mutant('transact-makes-lanes-for-later', '0039 an item needs no lane until it is due',
    [transactItem, 'new Set(now.map(', 'new Set(items.map('],
    test('test/engine/later-full.test.ts', 'of another priority')),
  mutant('linger-sends-what-was-given-up', '0031 a call that was given up is taken out',
    [deliver, 'part.filter(isWanted)', 'part'], test(deliverTest)),
  mutant('linger-doubles-what-no-key-guards', 'rule 5: a lost answer is never guessed',
    [appendPushes, 'if (appended.inDoubt) {', 'if (appended.inDoubt && left.length === 0) {'],
    simulation(800, 'lingering')),
  mutant('linger-gives-up-for-others', '0031 a batch goes on while somebody waits for it',
    [lingering, 'flight?.batch.every(', 'flight?.batch.some('], test(lingeringTest)),
  mutant('linger-joins-what-goes-alone', '0031 a key of your own goes alone',
    [line, 'if (calls > 0 && (load.alone || isTooMuch))', 'if (calls > 0 && isTooMuch)'],
    test(lineTest)),
  mutant('linger-batch-too-large', '1,000 items and 2.5 MiB a push',
    [line, 'if (calls > 0 && (load.alone || isTooMuch))', 'if (calls > 0 && load.alone)'],
    test(lineTest)),
  mutant('linger-batch-of-too-many-priorities', '100 priorities a push',
    [line, 'priorities.size > PRIORITIES_PER_PUSH_MAX', 'priorities.size > 10_000'],
    test(clientTest, 'more priorities')),
]
