import { type Mutant, mutant, simulation, test } from './mutant.ts'

const commit = 'engine/operations/attempts/commit.ts'
const engine = 'engine/operations/attempts/engine.ts'
const append = 'engine/operations/pushing/append.ts'
const claim = 'engine/operations/popping/claim.ts'
const extend = 'engine/operations/settling/extend.ts'
const sdkRetry = 'foundation/sdk-retry.ts'
const dynamo = 'foundation/dynamo.ts'
const receipts = 'engine/operations/pushing/receipts.ts'
const pushOnce = 'engine/operations/pushing/push-once.ts'
const pop = 'engine/operations/popping/pop.ts'
const racesTest = 'test/proofs/mutants/races.test.ts'
const answersTest = 'test/proofs/mutants/answers.test.ts'
const doubtTest = 'test/engine/doubt.test.ts'
const idempotentPushTest = 'test/engine/idempotent-push.test.ts'
const transactionConflictsTest = 'test/engine/transaction-conflicts.test.ts'

const transact = 'engine/operations/pushing/transact.ts'
const transactTest = 'test/engine/transact.test.ts'

/** Answers that are lost, and keys that make a repetition safe. */
// biome-ignore format: a mutant is a row
export const lostAnswerMutants: readonly Mutant[] = [
  mutant('lost-answer-taken-for-success', '§5.5 a lost answer is never guessed',
    [commit,
     "if (current.version === before.version) return { kind: 'open' }",
     "if (current.version === before.version) return { kind: 'happened', record: current }"],
    simulation(300, 'lost')),
  mutant('lost-answer-taken-for-failure', '§5.5 own mark found: it happened',
    [commit,
     "return mark === change.mark ? { kind: 'happened', record: current } : { kind: 'never', current }",
     "return { kind: 'never', current }"], simulation(300, 'lost')),
  mutant('open-answer-taken-for-failure', '§5.5 it may still land',
    [commit,
     "if (current.version === before.version) return { kind: 'open' }",
     "if (current.version === before.version) return { kind: 'never', current }"],
    simulation(300, 'lost')),
  mutant('forgotten-mark-taken-for-failure', '§5.5 version moved by more than 16: unknown',
    [commit,
     "if (mark === undefined) return { kind: 'unknowable' }",
     "if (mark === undefined) return { kind: 'never', current }"], test(racesTest)),
  mutant('lost-answer-of-another-life', 'the fence: version and born',
    [commit, 'current === undefined || current.born !== before.born', 'current === undefined'],
    test(racesTest)),
  mutant('one-mark-for-each-engine', '§5.5 each fenced write has its own mark',
    [engine,
     'export const newMark = (engine: Engine): string => randomText(engine.random, MARK_CHARACTERS)',
     `const marksOf = new WeakMap<Engine, string>()
export const newMark = (engine: Engine): string => {
  const mark = marksOf.get(engine) ?? randomText(engine.random, MARK_CHARACTERS)
  marksOf.set(engine, mark)
  return mark
}`], simulation(300, 'lost')),
  mutant('resent-write-fails-for-certain', '§6.6 a definite error changed nothing',
    [commit, 'throw first ? error : outcomeUnknown(queue, error)', 'throw error'],
    test(answersTest)),
  mutant('append-not-found-is-sent-again', '§5.5 an append not found: no retry, it may still land',
    [append,
     'if (current === undefined || found === undefined) throw outcomeUnknown(queue, cause)',
     'if (current === undefined || found === undefined) return again(current)'],
    simulation(300, 'lost')),
  mutant('push-in-doubt-called-a-repetition', 'a push whose answer was lost may itself have had the effect',
    [receipts, 'done(inDoubt ? answer : { ...answer, repeated: true })',
     'done({ ...answer, repeated: true })'], simulation(300, 'lost')),
  mutant('append-not-found-taken-for-success', '§5.5 a lost answer is never guessed',
    [append,
     'if (current === undefined || found === undefined) throw outcomeUnknown(queue, cause) return done(places(current, found))',
     `const guess = current && (found ?? startsAfterAppend(addition, current))
if (current === undefined || guess?.size !== addition.lanes.size) throw outcomeUnknown(queue, cause)
return done(places(current, guess))`], simulation(300, 'lost')),
  mutant('append-not-found-taken-for-failure', '§5.5 a lost answer is never guessed',
    [append,
     "if (written.kind === 'unknown') return lookFor(appending, written.cause) const after = seen(engine, queue, written.row) if (written.kind === 'failed' || after === undefined) return clearTheWay",
     `if (written.kind === 'unknown') throw new QueueError('BUSY', 'nothing was changed')
const after = seen(engine, queue, written.row)
if (written.kind === 'failed' || after === undefined) return clearTheWay`],
    test('test/engine/doubt.test.ts', 'not to be found')),
  mutant('first-push-sent-again', '§5.5 a lost answer is never guessed',
    ['engine/operations/attempts/first-record.ts',
     'if (current?.born !== item.born) throw outcomeUnknown(queue, written.cause)',
     'if (current?.born !== item.born) return again(current)'],
    test('test/engine/doubt.test.ts', 'first push')),
  mutant('claim-not-found-is-sent-again', '§5.5 a lost answer is never guessed',
    [claim,
     'if (!record?.locks.has(claim.lockId)) throw outcomeUnknown(queue, written.cause)',
     'if (!record?.locks.has(claim.lockId)) return again(record)'], simulation(300, 'lost')),
  mutant('claim-that-cannot-be-read-taken-for-failure', '§6.6 a definite error changed nothing',
    [claim, 'throw changedAllTheSame(error)', 'throw error'], test(answersTest)),
  mutant('lost-acknowledge-taken-for-failure', '§5.5 a lost answer is never guessed',
    ['engine/operations/settling/acknowledge.ts',
     'return refuse(error, isFinal)',
     'return refuse(error, isFinal || true)'],
    test(doubtTest, 'may yet land')),
  mutant('lost-extension-taken-for-failure', '§5.5 a lost answer is never guessed',
    [[extend, 'refuse(standing.error)', 'refuse(standing.error, true)'],
     [extend,
      "refuse(acknowledgedAlready('extend', lockId))",
      "refuse(acknowledgedAlready('extend', lockId), true)"]], test(racesTest)),
  mutant('purge-in-part-taken-for-failure', '§6.6 a definite error changed nothing',
    ['engine/operations/settling/purge.ts',
     'throw itemsPurged > 0 ? changedAllTheSame(error) : error',
     'throw error'], test(answersTest)),
  mutant('sdk-retry-left-on', '§5.5 the SDK’s own retry',
    [[sdkRetry,
      'middlewareStack?.add((next) => next, {',
      `void middlewareStack
void ((next: unknown) => [next, {`],
     [sdkRetry, 'override: true, })', `override: true,
}])`]], test('test/foundation/sdk-retry.test.ts')),
  mutant('server-error-taken-for-definite', '§5.5 retry is for throttling only',
    ['foundation/outcome.ts',
     "status < 500 ? 'refused' : 'unknown'",
     "status < 500 ? 'refused' : status !== undefined ? 'throttled' : 'unknown'"],
    simulation(300)),
  mutant('lost-transaction-sent-again', '§5.5 retry is for throttling only',
    [dynamo, "if (failure === 'unknown') return { kind: 'unknown', cause: error }", ''],
    simulation(300, 'lost')),
  mutant('key-without-condition-on-its-receipt', '§6.6 the same Idempotency-Key has one effect',
    [receipts,
     "ConditionExpression: 'attribute_not_exists(pk) OR #ttl<=:now', ExpressionAttributeNames: { '#ttl': 'ttl' }, ExpressionAttributeValues: { ':now': Math.floor(engine.clock.nowMs() / 1000) },",
     ''], simulation(300)),
  mutant('key-blocked-by-an-expired-receipt', '§6.6 one effect within the window',
    [receipts,
     "ConditionExpression: 'attribute_not_exists(pk) OR #ttl<=:now', ExpressionAttributeNames: { '#ttl': 'ttl' }, ExpressionAttributeValues: { ':now': Math.floor(engine.clock.nowMs() / 1000) },",
     "ConditionExpression: 'attribute_not_exists(pk)',"],
    test(idempotentPushTest, 'is forgotten after its time')),
  mutant('receipt-answers-another-body', '§4 receipt: hash of the body',
    [receipts,
     'if (receipt.hash !== once.hash) return',
     "if (receipt.hash !== once.hash && receipt.hash === '') return"],
    test(idempotentPushTest, 'conflicts with another body')),
  mutant('receipt-written-beside-the-append', '§4 a transaction of receipt and append',
    [pushOnce,
     'const transacted = await engine.dynamo.transact({ TransactItems: [receiptPut(engine, receipt), write] as never, })',
     `const put = await engine.dynamo.transact({ TransactItems: [receiptPut(engine, receipt)] as never })
const appended = put.kind === 'done' ? await engine.dynamo.transact({ TransactItems: [write] as never }) : put
const transacted = put.kind === 'done' && appended.kind === 'failed' ? { ...appended, reasons: [{ failed: false }, ...appended.reasons] } : appended`],
    simulation(300)),
  mutant('keyed-push-guesses-its-place', '§4 an answer tells sequence numbers',
    [pushOnce, 'exactly: exact ? record : undefined,', ''], simulation(300)),
  mutant('key-of-a-pop-ignored', '§4 a pop’s key is kept on its lock',
    ['engine/core/pop.ts',
     'if (keyHash === undefined) return undefined',
     'if (keyHash !== "") return undefined'], test('test/engine/idempotent-pop.test.ts')),
  mutant('combined-acknowledge-in-a-write-of-its-own',
    '§4 acknowledging an earlier lock in the same write',
    [[pop,
      'request: PopRequest = {}, hasSlot = false, ): Promise<PopOutcome> {',
      `request: PopRequest = {},
  hasSlot = false,
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
  hasSlot = false,
): Promise<PopOutcome> {`],
     [pop,
      "import { hashOf } from '../../core/hash.ts'",
      `import { hashOf } from '../../core/hash.ts'
import { acknowledge as acknowledgeApart } from '../settling/acknowledge.ts'`]],
    test('test/engine/acknowledge.test.ts', 'settles nothing'), simulation(300)),
  mutant('ended-locks-not-remembered', '§7 acknowledge repeated: the first answer again',
    ['engine/core/locks.ts', 'ended: ended.slice(-ENDED_KEPT)', 'ended: []'],
    test('test/engine/core/locks.test.ts')),
  mutant('conflict-of-transactions-taken-for-throttling',
    '0008 a conflict passes within milliseconds',
    ['foundation/patience.ts',
     "failure === 'conflict' ? conflictPatience : steadyPatience",
     'steadyPatience'], test(transactionConflictsTest)),
  mutant('conflict-of-transactions-not-recognised', '0008 a conflict passes within milliseconds',
    [dynamo, "isConflict(error) ? 'conflict' : 'throttled'", "'throttled'"],
    test(transactionConflictsTest)),
  mutant('doubt-ended-by-a-record-that-cannot-be-read', '§5.5 a lost answer is never guessed',
    [engine,
     'return seen(engine, queue, row) } catch (error) { throw outcomeUnknown(queue, error)',
     `return seen(engine, queue, row)
} catch (error) {
  throw error`], test(doubtTest, 'newer format')),
  mutant('doubt-forgotten-by-the-driver', '§5.5 a lost answer is never guessed',
    ['engine/operations/attempts/attempts.ts', 'if (run.doubt === undefined) throw error', 'throw error'],
    test('test/engine/attempts.test.ts')),
  mutant('a-lost-transaction-gets-a-new-entry', 'one entry has one effect, whatever gets lost',
    [transact, "if (fate === 'unknown') doubt ??= { cause: error }",
     `if (fate === 'unknown') {
  doubt ??= { cause: error }
  made = undefined
}`], test(transactTest)),
  mutant('a-transaction-that-passed-is-not-known', 'one entry has one effect, whatever gets lost',
    [transact, "if (passed.includes(token)) return 'carried out'", ''], test(transactTest)),
  mutant('a-later-refusal-ends-the-doubt', '§5.5 a lost answer is never guessed',
    [transact, 'throw doubt === undefined ? error : outcomeUnknown(queue, error)', 'throw error'],
    test(transactTest)),
  mutant('a-conflict-of-the-caller-is-repeated', 'what is the caller’s own is handed over',
    [transact, "return mayBeGone && (await readRecord(engine, queue)) === undefined ? 'in the way' : 'not ours'",
     "return 'in the way'"], test(transactTest)),
]
