import { type Mutant, mutant, test } from './mutant.ts'

const worker = 'consumer/core/worker.ts'
const lot = 'consumer/core/lot.ts'
const verdicts = 'consumer/core/verdicts.ts'
const rota = 'consumer/core/rota.ts'
const many = 'consumer/core/work-many.ts'
const onTable = 'consumer/consume-many.ts'
const clientWorker = '../client/consume/worker.ts'
const clientLot = '../client/consume/lot.ts'
const runTest = 'test/consumer/run.test.ts'
const manyTest = 'test/consumer/many.test.ts'
const decisions = 'test/consumer/decisions.test.ts'
const simulated = 'test/proofs/many-simulation/many.test.ts'
const clientTest = 'test/client/consume.test.ts'

/** How queues are worked: by a function, by a process with many queues, and by `consume` of the client. */
// biome-ignore format: a mutant is a row
export const consumerMutants: readonly Mutant[] = [
  mutant('consumer-blames-a-whole-batch', 'no item dies for its neighbours',
    [verdicts, '(failed.has(id) || items.length === 1)', 'items.length > 0'], test(decisions)),
  mutant('consumer-blames-what-it-gave-up', 'what was not tried has not failed',
    [verdicts, "ended.kind !== 'given-up' && (", '('], test(decisions, 'Verdicts'), test(manyTest)),
  mutant('consumer-mixes-what-comes-back', 'the next failure of an item that comes back is its own',
    [verdicts, 'const joins = isFresh && item.deliveries === 1', 'const joins = parts.length > 0'],
    test(decisions, 'one by one')),
  mutant('consumer-buries-what-others-killed', 'no item dies for those of other queues, or for a stop',
    [lot, 'batchSize > 1 || run.comeBack !== undefined', 'batchSize > 1'], test(manyTest, 'keeps stopping')),
  mutant('consumer-takes-a-batch-after-a-failure', 'what failed comes back by itself',
    [worker, 'alone = verdicts.back.length > 0 ||', 'alone = verdicts.back.length < 0 &&'], test(runTest)),
  mutant('consumer-forgets-what-is-done', 'what is done is acknowledged, also if the next pop fails',
    [worker, 'if (held !== undefined) await acknowledge(run, held)', ''], test(runTest)),
  mutant('consumer-counts-a-lost-lock-from-its-repetition', 'nobody works under a lock that has ended',
    [worker, 'if (!inDoubt) sinceMs = clock.nowMs()', 'sinceMs = clock.nowMs()'], test(runTest)),
  mutant('consumer-forgets-what-is-done-at-its-end', 'what is done is acknowledged when the time is over',
    [worker, "if (finished !== undefined) await acknowledge(run, finished) return 'continued'",
     "return 'continued'"], test(runTest)),
  mutant('consumer-asks-under-a-new-key', 'a lost answer does not lock the queue against its consumer',
    [worker, '...(key !== undefined && { idempotencyKey: key })',
     '...(key !== undefined && { idempotencyKey: edge.newKey() })'], test(runTest)),
  mutant('consumer-leaves-a-lost-lock', 'a lock whose answer was lost is found again',
    [worker, 'run.mayTakeMore(inDoubt)', 'run.mayTakeMore(false)'],
    test('test/consumer/many-troubles.test.ts', 'answer was lost')),
  mutant('consumer-leaves-a-lost-lock-at-a-limit', 'a lock whose answer was lost is found again',
    [worker, 'run.comeBack !== undefined && clock.nowMs() + retryAfterMs >= lockEndsMs', 'run.comeBack !== undefined'],
    test('test/consumer/many-troubles.test.ts', 'limit of its queue')),
  mutant('consumer-waits-for-a-dead-lock', 'a queue at its limit takes no place for longer than a lock may live',
    [worker, 'clock.nowMs() + retryAfterMs >= lockEndsMs', '!inDoubt'],
    test('test/consumer/many-troubles.test.ts', 'lasts longer')),
  mutant('consume-pauses-behind-expired-items', 'a pop that could not get to the end says so, and another follows',
    [clientWorker, 'if (!popped.more) await', 'await'], test(clientTest, 'stopped at expired')),
  mutant('consumer-works-under-an-old-lock', 'nobody works under a lock that has ended',
    [worker, 'edge.clock.nowMs() - sinceMs >= ttlSeconds * 1000', 'edge.clock.nowMs() < sinceMs'], test(runTest)),
  mutant('consumer-acknowledges-what-failed', 'only what is done is acknowledged',
    [lot, 'ids.length === lot.items.length ? {} : { ids }', 'ids.length > 0 ? {} : { ids }'], test(runTest)),
  mutant('consumer-believes-any-id', 'a mistake in the handler acknowledges nothing',
    [lot, 'if (!known.has(id)) throw new UnknownItem(String(id))', ''], test(runTest)),
  mutant('consumer-goes-on-behind-a-failure', 'an exclusive queue keeps its order',
    [lot, '!passesBy(settings) && verdicts.some(({ back }) => back.length > 0)',
     'passesBy(settings) && verdicts.length < 0'],
    test(runTest, 'in one lot')),
  mutant('consumer-keeps-its-place', 'a queue gives up its place while others wait',
    [many, '(clock.nowMs() < endMs || !rota.someoneWaits)', 'clock.nowMs() < endMs + 3_600_000'],
    test(manyTest, 'turns'), test(simulated)),
  mutant('consumer-begins-after-a-stop', 'what comes while the work stops is not begun',
    [many, 'if (stop.aborted) throw new GivenUp()', ''], test(manyTest, 'stop')),
  mutant('consumer-ends-before-its-handlers', 'nothing is held when the work has ended',
    [many, 'while (turns.size > 0) await Promise.all(turns)', ''], test(manyTest, 'stop')),
  mutant('consumer-comes-back-at-once', 'a queue that is put off takes no place meanwhile',
    [rota, '#placeOf(queue).notBeforeMs = untilMs', '#placeOf(queue).notBeforeMs = 0'],
    test('test/consumer/rota.test.ts')),
  mutant('consumer-asks-in-vain-for-ever', 'what comes to nothing is asked less and less often',
    [rota, 'place.fruitless += 1', ''], test('test/consumer/rota.test.ts')),
  mutant('consumer-looks-always', 'an idle process makes two calls a second, or fewer',
    [many, 'hadWork ? 0 : idleRounds + 1', '0'], test(simulated), test(manyTest)),
  mutant('consumer-waits-for-its-clock', 'everything is bounded',
    [onTable, 'nowMs: () => performance.now()', 'nowMs: () => systemClock.nowMs()'],
    test('test/consumer/many-clock.test.ts')),
  mutant('client-consume-forgets-what-is-done', 'what is done is acknowledged, also if the next pop fails',
    [clientWorker, 'if (held !== undefined) await acknowledgeAlone(queue, held, shift)', ''], test(clientTest)),
  mutant('client-consume-keeps-a-lock-alive', 'nobody holds a lock under which nobody works',
    [clientWorker, 'const held = finished finished = undefined',
     'if (!(error instanceof PushPopError)) throw error; const held = finished; finished = undefined'],
    test(clientTest, 'a fault ends')),
  mutant('client-consume-drops-its-key', 'a lost answer does not lock the queue against its consumer',
    [clientWorker, 'if (!mayHold) key = undefined', 'key = undefined'], test(clientTest)),
  mutant('client-consume-counts-a-lost-lock-from-its-repetition', 'nobody works under a lock that has ended',
    [clientWorker, 'if (!mayHold) sinceMs = performance.now()', 'sinceMs = performance.now()'], test(clientTest)),
  mutant('client-consume-leaves-a-lost-lock', 'a lock whose answer was lost is given back at a stop',
    [clientWorker, 'if (mayHold && key !== undefined) await giveBack(options, key)', ''], test(clientTest)),
  mutant('client-consume-buries-what-is-done', 'a step that failed leaves its items, and the last may not take them',
    [clientLot, "(!refused || step.kind === 'back')", "(!refused || step.kind !== 'done')"], test(clientTest)),
  mutant('client-consume-looks-with-all-hands', 'one worker looks at an empty queue for all',
    ['../client/consume/idle.ts', 'if (scout !== undefined && scout !== worker) return woken(wake.signal)',
     'void woken'], test(clientTest)),
]
