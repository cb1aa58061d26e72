import { type Mutant, mutant, simulation, test } from './mutant.ts'

const retry = 'engine/core/retry.ts'
const worker = 'consumer/core/worker.ts'
const retriesTest = 'test/engine/retries.test.ts'
const transitionsTest = 'test/engine/core/transitions.test.ts'
const lostWakeup = 'test/proofs/consumer-simulation/lost-wakeup.test.ts'

/** What was released with a delay. */
// biome-ignore format: a mutant is a row
export const retryMutants: readonly Mutant[] = [
  mutant('retry-settled-by-its-id', 'nobody can settle a retry lock',
    ['engine/core/lock-standing.ts', 'isRetry(lockId) ? undefined : record?.locks.get(lockId)',
     'record?.locks.get(lockId)'], test(retriesTest, 'nobody can settle')),
  mutant('retry-that-nobody-overtakes', 'an exclusive pop passes by what may be overtaken',
    ['engine/core/pop.ts', '.filter(([lockId]) => !isOvertaken(lockId))', '.filter(() => isOvertaken !== undefined)'],
    test(retriesTest)),
  mutant('retry-that-all-overtake', 'an exclusive queue keeps its order',
    [retry, 'lockId.startsWith(RETRY_LOCK) || isOvertaken(lockId)', 'isOvertaken(lockId)'],
    test(retriesTest)),
  mutant('retry-overtaken-unasked', 'an exclusive queue keeps its order',
    ['foundation/random-text.ts', 'overtake ? OVERTAKEN_LOCK : RETRY_LOCK', 'overtake ? RETRY_LOCK : OVERTAKEN_LOCK'],
    test(retriesTest), simulation(100)),
  mutant('retry-of-a-last-delivery', 'what was delivered for the last time does not wait',
    [retry, 'const spent = spentOf(record, stretches)', 'const spent = spentOf(record, [])'],
    test(retriesTest), simulation(300)),
  mutant('retry-counted-twice', 'a delivery counts when its item is back',
    [retry, 'spent.length > 0 ? giveBack(record, spent) : record', 'giveBack(record, stretches)'],
    test(retriesTest), simulation(100)),
  mutant('retry-that-comes-early', 'a retry comes when it was asked for',
    ['engine/operations/settling/settle.ts', 'dueMs: nowMs + delaySeconds * 1_000', 'dueMs: nowMs + delaySeconds * 999'],
    test(retriesTest), simulation(100)),
  mutant('retry-told-as-an-expired-lock', 'of a retry that comes due nobody’s time ran out',
    ['engine/core/transitions.ts', 'isDone(lock) || isRetry(lockId) ||', 'isDone(lock) ||'], test(transitionsTest)),
  mutant('retry-told-when-it-begins', 'a release with a delay frees nothing',
    ['engine/core/flags.ts', '&& !goesToRetry(lock, before, after)', '&& goesToRetry !== undefined'],
    test(transitionsTest), test(retriesTest)),
  mutant('retry-counted-as-locked', 'what waits for its retry is locked by nobody',
    ['engine/core/views.ts', 'isLive(lock, nowMs) && !isRetry(lockId)', 'isLive(lock, nowMs)'], test(retriesTest)),
  mutant('retry-remembered', 'a retry lock takes the place of none that somebody may ask for',
    ['engine/core/locks.ts', 'isRetry(lockId) ? released :', 'isRetry === undefined ? released :'],
    test(retriesTest, 'remembered')),
  mutant('retry-that-silences-the-rest', 'what others may overtake stands for nobody',
    ['engine/core/reminder.ts', 'isDone(lock) || isOvertaken(id)', 'isDone(lock) && isOvertaken !== id'],
    test(retriesTest, 'remind')),
  mutant('retry-that-puts-reminders-off', 'beside a retry a day away the sweeper goes on looking',
    ['engine/core/fence.ts', 'return hasRetry(record) ? nowMs + afterMs : undefined', 'return hasRetry === undefined ? nowMs : undefined'],
    test(retriesTest, 'remind')),
  mutant('consumers-lock-forgotten', 'a settlement that is repeated gets its answer again',
    ['engine/core/ended-locks.ts', '(\\.?[^.]{11})', '([^.]{11})'], test('test/engine/core/record.test.ts')),
  mutant('consumer-delays-what-nobody-tried', 'what nobody has tried is back at once',
    ['consumer/core/verdicts.ts', "failed: ended.kind === 'given-up' ? [] : back", 'failed: back'],
    test('test/consumer/many.test.ts', 'stop')),
  mutant('consumer-lets-the-untried-be-overtaken', 'only what failed is overtaken',
    [worker, 'if (overtake && 0 < failed.length && failed.length < back.length)', 'if (failed.length < 0)'],
    test(lostWakeup)),
  mutant('consumer-asks-a-blocked-queue', 'a queue that waits for a retry is not asked',
    ['consumer/core/rota.ts', '(lockedCount === 0 && !isBlocked)', '(lockedCount === 0 && isBlocked !== 1)'],
    test('test/consumer/rota.test.ts')),
]
