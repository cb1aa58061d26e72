import { type Mutant, mutant, simulation, test } from './mutant.ts'

const commit = 'engine/driver/records.ts'
const engine = 'engine/driver/records.ts'
const append = 'engine/verbs/send-append.ts'
const claim = 'engine/verbs/pop-claim.ts'
const extend = 'engine/verbs/settle.ts'
const sdkRetry = 'aws/failures.ts'
const dynamo = 'aws/dynamo.ts'
const pop = 'engine/verbs/pop.ts'
const racesTest = 'test/proofs/mutants/races.test.ts'
const answersTest = 'test/proofs/mutants/answers.test.ts'
const doubtTest = 'test/engine/doubt.test.ts'
const transactionConflictsTest = 'test/engine/transaction-conflicts.test.ts'

const transact = 'engine/verbs/transact.ts'
const transactTest = 'test/engine/transact.test.ts'

/** Answers that are lost, and keys that make a repetition safe. */
// biome-ignore format: a mutant is a row
export const lostAnswerMutants: readonly Mutant[] = [
  mutant('copy-at-work-taken-for-a-refusal', 'rule 5: a lost answer is never guessed',
    ['aws/failures.ts', "TransactionInProgressException: 'unknown'",
     "TransactionInProgressException: 'conflict'"], test(transactTest, 'still at work')),
  mutant('lost-answer-taken-for-success', 'rule 5: a lost answer is never guessed',
    [commit,
     "if (current.version === before.version) return { kind: 'open' }",
     "if (current.version === before.version) return { kind: 'happened', record: current }"],
    simulation(300, 'lost')),
  mutant('lost-answer-taken-for-failure', 'rule 5: own mark found: it happened',
    [commit,
     "return mark === change.mark ? { kind: 'happened', record: current } : { kind: 'never', current }",
     "return { kind: 'never', current }"], simulation(300, 'lost')),
  mutant('open-answer-taken-for-failure', 'rule 5: it may still land',
    [commit,
     "if (current.version === before.version) return { kind: 'open' }",
     "if (current.version === before.version) return { kind: 'never', current }"],
    simulation(300, 'lost')),
  mutant('forgotten-mark-taken-for-failure', 'rule 5: version moved by more than 16: unknown',
    [commit,
     "if (mark === undefined) return { kind: 'unknowable' }",
     "if (mark === undefined) return { kind: 'never', current }"], test(racesTest)),
  mutant('lost-answer-of-another-life', 'the fence: version and born',
    [commit, 'current === undefined || current.born !== before.born', 'current === undefined'],
    test(racesTest)),
  mutant('one-mark-for-each-engine', 'rule 5: each fenced write has its own mark',
    [engine,
     'return randomText(this.#parts.random, MARK_CHARACTERS)',
     'return (this.mark ??= randomText(this.#parts.random, MARK_CHARACTERS))'], simulation(300, 'lost')),
  mutant('resent-write-fails-for-certain', 'guarantee 6: a definite error changed nothing',
    [commit, 'throw first ? error : QueueError.unknown(queue, error)', 'throw error'],
    test(answersTest)),
  mutant('append-not-found-is-sent-again', 'rule 5: an append not found: no retry, it may still land',
    [append,
     'if (current === undefined || found === undefined) throw QueueError.unknown(queue, cause)',
     'if (current === undefined || found === undefined) return again(asStored(current))'],
    simulation(300, 'lost')),
  mutant('append-not-found-taken-for-success', 'rule 5: a lost answer is never guessed',
    [append,
     'if (current === undefined || found === undefined) throw QueueError.unknown(queue, cause) return done({ kind: \'placed\', placed: placedAt(current, found) })',
     `const guess = current && (found ?? startsAfterAppend(addition, current))
if (current === undefined || guess?.size !== addition.lanes.size) throw QueueError.unknown(queue, cause)
return done({ kind: 'placed', placed: placedAt(current, guess) })`], simulation(300, 'lost')),
  mutant('append-not-found-taken-for-failure', 'rule 5: a lost answer is never guessed',
    [append,
     "if (written.kind === 'unknown') return lookFor(appending, written.cause) const after = engine.records.seen(queue, written.row) if (written.kind === 'failed' || after === undefined) return clearTheWay",
     `if (written.kind === 'unknown') throw Object.assign(QueueError.unknown(queue, 0), { outcome: undefined })
const after = engine.records.seen(queue, written.row)
if (written.kind === 'failed' || after === undefined) return clearTheWay`],
    test('test/engine/doubt.test.ts', 'not to be found')),
  mutant('first-push-sent-again', 'rule 5: a lost answer is never guessed',
    ['engine/storing/make-lanes.ts',
     'if (current?.born !== item.born) throw QueueError.unknown(queue, written.cause)',
     'if (current?.born !== item.born) return again(asStored(current))'],
    test('test/engine/doubt.test.ts', 'first push')),
  mutant('claim-not-found-is-sent-again', 'rule 5: a lost answer is never guessed',
    [claim,
     'if (!record?.locks.has(claim.lockId)) throw QueueError.unknown(queue, written.cause)',
     'if (!record?.locks.has(claim.lockId)) return again(asStored(record))'], simulation(300, 'lost')),
  mutant('claim-that-cannot-be-read-taken-for-failure', 'guarantee 6: a definite error changed nothing',
    [claim, 'throw QueueError.partly(error)', 'throw error'], test(answersTest)),
  mutant('lost-acknowledge-taken-for-failure', 'rule 5: a lost answer is never guessed',
    ['engine/verbs/settle.ts',
     'return refuse(error, isFinal)',
     'return refuse(error, isFinal || true)'],
    test(doubtTest, 'may yet land')),
  mutant('lost-extension-taken-for-failure', 'rule 5: a lost answer is never guessed',
    [[extend, 'refuse(standing.error)', 'refuse(standing.error, true)'],
     [extend,
      "refuse(acknowledgedAlready('extend', lockId))",
      "refuse(acknowledgedAlready('extend', lockId), true)"]], test(racesTest)),
  mutant('purge-in-part-taken-for-failure', 'guarantee 6: a definite error changed nothing',
    ['engine/verbs/purge.ts',
     'throw purgedSoFar().itemsPurged > 0 ? QueueError.partly(error) : error',
     'throw error'], test(answersTest)),
  mutant('sdk-retry-left-on', 'rule 5: the SDK’s own retry',
    [[sdkRetry,
      'middlewareStack?.add((next) => next, {',
      `void middlewareStack
void ((next: unknown) => [next, {`],
     [sdkRetry, 'override: true, })', `override: true,
}])`]], test('test/foundation/sdk-retry.test.ts')),
  mutant('server-error-taken-for-definite', 'rule 5: retry is for throttling only',
    ['aws/failures.ts',
     "status < 500 ? 'refused' : 'unknown'",
     "status < 500 ? 'refused' : status !== undefined ? 'throttled' : 'unknown'"],
    simulation(300)),
  mutant('lost-transaction-sent-again', 'rule 5: retry is for throttling only',
    [dynamo, "if (failure === 'unknown') return { kind: 'unknown', cause: error }", ''],
    simulation(300, 'lost')),
  mutant('key-of-a-pop-ignored', 'a pop’s key is kept on its lock',
    ['engine/core/plan-pop.ts',
     'if (keyHash === undefined) return undefined',
     'if (keyHash !== "") return undefined'], test('test/engine/idempotent-pop.test.ts')),
  mutant('combined-acknowledge-in-a-write-of-its-own',
    'acknowledging an earlier lock in the same write',
    [[pop,
      'request: PopRequest = {}, limit: LimitedCall = popLimited(request), ): Promise<PopOutcome> {',
      `request: PopRequest = {},
): Promise<PopOutcome> {
  const { acknowledge: lockId, ...rest } = request
  if (lockId === undefined) return popApart(engine, queue, request)
  const { itemsAcknowledged } = await acknowledgeApart(engine, queue, { lockId })
  const outcome = await popApart(engine, queue, rest)
  return outcome.kind === 'locked' ? outcome : { ...outcome, itemsAcknowledged }
}

async function popApart(
  engine: Engine,
  queue: string,
  request: PopRequest,
  limit: LimitedCall = popLimited(request),
): Promise<PopOutcome> {`],
     [pop,
      "import { hashOf } from '../core/keys.ts'",
      `import { hashOf } from '../core/keys.ts'
import { acknowledge as acknowledgeApart } from './settle.ts'`]],
    test('test/engine/acknowledge.test.ts', 'settles nothing'), simulation(300)),
  mutant('ended-locks-not-remembered', 'acknowledge repeated: the first answer again',
    ['engine/core/locks.ts', 'ended: ended.slice(-ENDED_KEPT)', 'ended: []'],
    test('test/engine/core/locks.test.ts')),
  mutant('conflict-of-transactions-taken-for-throttling',
    '0008 a conflict passes within milliseconds',
    ['aws/failures.ts',
     "failure === 'conflict' ? conflictPatience : steadyPatience",
     'steadyPatience'], test(transactionConflictsTest)),
  mutant('conflict-of-transactions-not-recognised', '0008 a conflict passes within milliseconds',
    [dynamo, "isConflict(error) ? 'conflict' : 'throttled'", "'throttled'"],
    test('test/foundation/dynamo.test.ts')),
  mutant('throttle-counted-among-conflicts', '0008 each refusal has a patience of its own',
    [dynamo, '(waited.refusals.get(patience) ?? 0) + 1', '[...waited.refusals.values()].reduce((a, b) => a + b, 0) + 1'],
    test('test/foundation/dynamo.test.ts', 'after many transactions')),
  mutant('doubt-ended-by-a-record-that-cannot-be-read', 'rule 5: a lost answer is never guessed',
    [engine,
     'return this.seen(queue, row) } catch (error) { throw QueueError.unknown(queue, error)',
     `return this.seen(queue, row)
} catch (error) {
  throw error`], test(doubtTest, 'newer format')),
  mutant('doubt-forgotten-by-the-driver', 'rule 5: a lost answer is never guessed',
    ['engine/driver/attempts.ts', 'if (run.doubt === undefined) throw error', 'throw error'],
    test('test/engine/attempts.test.ts')),
  mutant('a-lost-transaction-gets-a-new-entry', 'one entry has one effect, whatever gets lost',
    [transact, "if (fate === 'unknown') doubt ??= { cause: error }",
     "if (fate === 'unknown') return { kind: 'in the way' }"], test(transactTest)),
  mutant('a-transaction-that-passed-is-not-known', 'one entry has one effect, whatever gets lost',
    [transact, "hasPassed(ours, made) ? 'carried out' : 'in the way'", "'in the way'"], test(transactTest)),
  mutant('a-later-refusal-ends-the-doubt', 'rule 5: a lost answer is never guessed',
    [transact, 'throw doubt === undefined ? error : QueueError.unknown(queue, doubt.cause)', 'throw error'],
    test(transactTest, 'refused')),
  mutant('a-look-that-fails-ends-the-doubt', 'rule 5: a lost answer is never guessed',
    [transact, 'throw doubt === undefined ? error :',
     "throw doubt === undefined || 'code' in (error as object) ? error :"],
    test(transactTest, 'cannot be asked')),
  mutant('transactions-of-callers-are-soon-given-up', '0008 a conflict passes within milliseconds',
    [transact, "isConflict(error) ? 'conflict' : 'throttled'", "'throttled'"],
    test(transactTest, 'Thirty-two')),
  mutant('a-cancel-is-sent-again', 'a second copy says that an item is gone, which the first has cancelled',
    ['shared/verbs.ts', "cancel: 'never'", "cancel: 'always'"],
    test('test/client/retries.test.ts', 'cancel')),
  mutant('a-time-of-a-move-goes-out-in-milliseconds', 'the wire has seconds',
    ['client/tabled-calls.ts', "if (kind !== 'time' && kind !== 'second') return value as string", 'return value as string'],
    test('test/client/times.test.ts')),
  mutant('refusal-speaks-for-a-lost-attempt', 'an error whose outcome is unknown does not say that nothing happened',
    ['client/transport.ts', "if (result.kind === 'refused' && lost) tellOfDoubt(error)", ''],
    test('test/client/errors.test.ts', 'does not take the word')),
  mutant('a-conflict-of-the-caller-is-repeated', 'what is the caller’s own is handed over',
    [transact, "return mayBeGone && (await engine.records.read(queue)) === undefined ? 'in the way' : 'not ours'",
     "return 'in the way'"], test(transactTest)),
]
