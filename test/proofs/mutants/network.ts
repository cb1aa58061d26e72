import { edit, type Mutant, test } from './mutant.ts'

/** Connections that die, answers that stall, and what is said of a request then. */
export const networkMutants: readonly Mutant[] = [
  {
    name: 'connection-of-any-age-used',
    rule: '0023 what has been idle for long is not used',
    edits: [edit('foundation/network/sockets.ts', ' && idleMs <= idleMsMax', '')],
    killers: [test('test/foundation/network/sockets.test.ts')],
  },
  {
    name: 'connection-from-the-future-used',
    rule: '0023 a clock that went back says nothing of an age',
    edits: [edit('foundation/network/sockets.ts', 'idleMs >= 0 && idleMs', 'idleMs')],
    killers: [test('test/foundation/network/sockets.test.ts')],
  },
  {
    name: 'closed-connection-used',
    rule: '0023 what is closed is not used',
    edits: [edit('foundation/network/sockets.ts', ' && isOpen(socket)', '')],
    killers: [test('test/foundation/network/sockets.test.ts')],
  },
  {
    name: 'idle-connection-not-looked-at',
    rule: '0023 what was idle is looked at first',
    edits: [
      edit('foundation/network/sockets.ts', '#closeStale() > 0 ?', '#closeStale() === Infinity ?'),
    ],
    killers: [test('test/foundation/network/blocked-loop.test.ts', 'that ended')],
  },
  {
    name: 'idle-connection-looked-at-for-half-a-turn',
    rule: '0023 what was idle is looked at first',
    edits: [
      edit(
        'foundation/network/sockets.ts',
        '    await endOfTurn()\n    await endOfTurn()\n',
        '    await endOfTurn()\n',
      ),
    ],
    killers: [test('test/foundation/network/blocked-loop.test.ts', 'that ended')],
  },
  {
    name: 'late-before-looking',
    rule: '0023 what came before the process looked at the time counts',
    edits: [edit('foundation/network/answer-timeouts.ts', '() => setImmediate(act)', 'act')],
    killers: [test('test/foundation/network/blocked-loop.test.ts', 'that came before')],
  },
  {
    name: 'body-waited-for-without-end',
    rule: '0023 one deadline for the whole answer',
    edits: [
      edit(
        'foundation/network/exchange.ts',
        "    outgoing.once('response', (incoming) => {\n",
        "    outgoing.once('response', (incoming) => {\n      clearTimeout(deadline)\n",
      ),
    ],
    killers: [test('test/foundation/network/request-handler.test.ts', 'stalls in its body')],
  },
  {
    name: 'sent-taken-for-unsent',
    rule: '0023 definite only where nothing left',
    edits: [edit('foundation/network/exchange.ts', '        mayHaveLeft = true\n', '')],
    killers: [test('test/foundation/network/request-handler.test.ts', 'that nobody knows')],
  },
  {
    name: 'reused-taken-for-unsent',
    rule: '0023 definite only where nothing left',
    edits: [
      edit(
        'foundation/network/exchange.ts',
        'mayHaveLeft = !sockets.isConnecting(socket)',
        'mayHaveLeft = false',
      ),
    ],
    killers: [test('test/foundation/network/request-handler.test.ts', 'used before')],
  },
  {
    name: 'connected-unseen-taken-for-unsent',
    rule: '0023 definite only where nothing left',
    edits: [
      edit(
        'foundation/network/sockets.ts',
        'socket.once(this.establishedBy, () => this.#connecting.delete(socket))',
        '',
      ),
      edit('foundation/network/sockets.ts', 'if (this.#connecting.has(socket)) return false', ''),
    ],
    killers: [test('test/foundation/network/never-sent.test.ts', 'made for another')],
  },
  {
    name: 'unsent-taken-for-unknown',
    rule: '0023 what never left changed nothing',
    edits: [
      edit(
        'foundation/network/exchange.ts',
        'mayHaveLeft || signal?.aborted ? error : new RequestNotSentError(host, error)',
        'error',
      ),
    ],
    killers: [test('test/foundation/network/never-sent.test.ts', 'never left')],
  },
  {
    name: 'unsent-to-one-of-many-addresses',
    rule: '0008 definite only where nothing left',
    edits: [
      edit('foundation/outcome.ts', 'error.errors.every(isUnsent)', 'error.errors.some(isUnsent)'),
    ],
    killers: [test('test/foundation/outcome.test.ts')],
  },
  {
    name: 'seal-that-waits-for-connections',
    rule: '0008 eager where the store throttles, not where it is away',
    edits: [
      edit('foundation/dynamo.ts', "  if (failure === 'unsent') return steadyPatience\n", ''),
    ],
    killers: [test('test/foundation/dynamo.test.ts', 'seal')],
  },
  {
    name: 'deadline-that-aborts-nothing',
    rule: '0023 a stalled answer frees its connection',
    edits: [edit('foundation/answer-deadline.ts', '      controller.abort(error)\n', '')],
    killers: [test('test/foundation/answer-deadline.test.ts')],
  },
  {
    name: 'deadline-that-waits-for-the-abort',
    rule: '0023 the wait ends, whatever becomes of the request',
    edits: [edit('foundation/answer-deadline.ts', '      reject(error)\n', '')],
    killers: [test('test/foundation/answer-deadline.test.ts', 'does not care')],
  },
  {
    name: 'object-store-that-hangs-asked-again-and-again',
    rule: '0023 a call ends before its function does',
    edits: [edit('foundation/objects.ts', '|| isLate) throw', ') throw')],
    killers: [test('test/foundation/objects.test.ts', 'that hangs')],
  },
  {
    name: 'denied-object-missing-without-a-word',
    rule: 'no error is swallowed',
    edits: [edit('foundation/objects.ts', '        this.#onDenied(error, key)\n', '')],
    killers: [test('test/foundation/objects.test.ts', 'somebody hears')],
  },
]
