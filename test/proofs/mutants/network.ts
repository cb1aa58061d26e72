import { type Mutant, mutant, test } from './mutant.ts'

const sockets = 'aws/connections.ts'
const exchange = 'aws/connections.ts'
const answerDeadline = 'aws/failures.ts'
const objects = 'aws/objects.ts'
const socketsTest = 'test/foundation/network/sockets.test.ts'
const blockedLoopTest = 'test/foundation/network/blocked-loop.test.ts'
const requestHandlerTest = 'test/foundation/network/request-handler.test.ts'
const neverSentTest = 'test/foundation/network/never-sent.test.ts'
const answerDeadlineTest = 'test/foundation/answer-deadline.test.ts'
const objectsTest = 'test/foundation/objects.test.ts'

/** Connections that die, answers that stall, and what is said of a request then. */
// biome-ignore format: a mutant is a row
export const networkMutants: readonly Mutant[] = [
  mutant('connection-of-any-age-used', '0023 what has been idle for long is not used',
    [sockets, '&& idleMs <= idleMsMax', ''], test(socketsTest)),
  mutant('connection-from-the-future-used', '0023 a clock that went back says nothing of an age',
    [sockets, 'idleMs >= 0 && idleMs', 'idleMs'], test(socketsTest)),
  mutant('closed-connection-used', '0023 what is closed is not used',
    [sockets, '&& isOpen(socket)', ''], test(socketsTest)),
  mutant('idle-connection-not-looked-at', '0023 what was idle is looked at first',
    [sockets, '#closeStale() > 0 ?', '#closeStale() === Infinity ?'],
    test(blockedLoopTest, 'that ended')),
  mutant('idle-connection-looked-at-for-half-a-turn', '0023 what was idle is looked at first',
    [sockets, 'await endOfTurn() await endOfTurn()', 'await endOfTurn()'],
    test(blockedLoopTest, 'that ended')),
  mutant('late-before-looking', '0023 what came before the process looked at the time counts',
    ['aws/failures.ts', '() => setImmediate(act)', 'act'],
    test(blockedLoopTest, 'that came before')),
  mutant('body-waited-for-without-end', '0023 one deadline for the whole answer',
    [exchange,
     "outgoing.once('response', (incoming) => {",
     `outgoing.once('response', (incoming) => {
clearTimeout(deadline)`], test(requestHandlerTest, 'stalls in its body')),
  mutant('sent-taken-for-unsent', '0023 definite only where nothing left',
    [exchange, 'mayHaveLeft = true', ''], test(requestHandlerTest, 'that nobody knows')),
  mutant('reused-taken-for-unsent', '0023 definite only where nothing left',
    [exchange, 'mayHaveLeft = !sockets.isConnecting(socket)', 'mayHaveLeft = false'],
    test(requestHandlerTest, 'used before')),
  mutant('connected-unseen-taken-for-unsent', '0023 definite only where nothing left',
    [[sockets, 'socket.once(this.establishedBy, () => this.#connecting.delete(socket))', ''],
     [sockets, 'if (this.#connecting.has(socket)) return false', '']],
    test(neverSentTest, 'made for another')),
  mutant('unsent-taken-for-unknown', '0023 what never left changed nothing',
    [exchange,
     'mayHaveLeft || signal?.aborted ? error : new RequestNotSentError(host, error)',
     'error'], test(neverSentTest, 'never left')),
  mutant('unsent-to-one-of-many-addresses', '0008 definite only where nothing left',
    ['shared/wire.ts', 'errors.every(isUnsent)', 'errors.some(isUnsent)'],
    test('test/foundation/outcome.test.ts')),
  mutant('seal-that-waits-for-connections',
    '0008 eager where the store throttles, not where it is away',
    ['aws/failures.ts', "if (failure === 'unsent') return steadyPatience", ''],
    test('test/foundation/dynamo.test.ts', 'seal')),
  mutant('deadline-that-aborts-nothing', '0023 a stalled answer frees its connection',
    [answerDeadline, 'controller.abort(error)', ''], test(answerDeadlineTest)),
  mutant('deadline-that-waits-for-the-abort',
    '0023 the wait ends, whatever becomes of the request',
    [answerDeadline, 'reject(error)', ''], test(answerDeadlineTest, 'does not care')),
  mutant('object-store-that-hangs-asked-again-and-again',
    '0023 a call ends before its function does',
    [objects, '|| isLate) throw', ') throw'], test(objectsTest, 'that hangs')),
  mutant('denied-object-missing-without-a-word', 'no error is swallowed',
    [objects, 'this.#onDenied(error, key)', ''], test(objectsTest, 'somebody hears')),
  mutant('foreign-signal-not-heard', 'a caller may abort by any signal that the SDK takes',
    ['aws/connections.ts',
     'const signal = abortSignal && withListeners(abortSignal)',
     `const signal =
abortSignal instanceof AbortSignal ? withListeners(abortSignal) : undefined`],
    test(requestHandlerTest, 'aborts by a signal')),
]
