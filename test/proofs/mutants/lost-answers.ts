// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { edit, type Mutant, simulation, test } from './mutant.ts'

const engine = 'engine/operations/engine.ts'

/** Answers that are lost, and keys that make a repetition safe. */
export const lostAnswerMutants: readonly Mutant[] = [
  {
    name: 'lost-answer-taken-for-success',
    rule: '§5.5 a lost answer is never guessed',
    edits: [
      edit(
        engine,
        "  if (current.version === change.before.version) return 'open'\n",
        "  if (current.version === change.before.version) return 'happened'\n",
      ),
    ],
    killers: [simulation(300, 'lost')],
  },
  {
    name: 'lost-answer-taken-for-failure',
    rule: '§5.5 own mark found: it happened',
    edits: [
      edit(engine, "  return mark === change.mark ? 'happened' : 'never'\n", "  return 'never'\n"),
    ],
    killers: [simulation(300, 'lost')],
  },
  {
    name: 'open-answer-taken-for-failure',
    rule: '§5.5 it may still land',
    edits: [
      edit(
        engine,
        "  if (current.version === change.before.version) return 'open'\n",
        "  if (current.version === change.before.version) return 'never'\n",
      ),
    ],
    killers: [simulation(300, 'lost')],
  },
  {
    name: 'forgotten-mark-taken-for-failure',
    rule: '§5.5 version moved by more than 16: unknown',
    edits: [
      edit(
        engine,
        "  if (mark === undefined) return 'unknowable'\n",
        "  if (mark === undefined) return 'never'\n",
      ),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'lost-answer-of-another-life',
    rule: 'the fence: version and born',
    edits: [
      edit(
        engine,
        "  if (current === undefined || current.born !== change.before.born) return 'unknowable'\n",
        "  if (current === undefined) return 'unknowable'\n",
      ),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'one-mark-for-each-engine',
    rule: '§5.5 each fenced write has its own mark',
    edits: [
      edit(
        engine,
        'export const newMark = (engine: Engine): string => randomText(engine.random, MARK_CHARACTERS)\n',
        'const marksOf = new WeakMap<Engine, string>()\nexport const newMark = (engine: Engine): string => {\n  const mark = marksOf.get(engine) ?? randomText(engine.random, MARK_CHARACTERS)\n  marksOf.set(engine, mark)\n  return mark\n}\n',
      ),
    ],
    killers: [simulation(300, 'lost')],
  },
  {
    name: 'resent-write-fails-for-certain',
    rule: '§6.6 a definite error changed nothing',
    edits: [
      edit(
        engine,
        '      if (first) throw error\n      throw outcomeUnknown(queue, error)\n    })\n    if (written.kind',
        '      throw error\n    })\n    if (written.kind',
      ),
    ],
    killers: [test('test/proofs/mutants/answers.test.ts')],
  },
  {
    name: 'append-not-found-is-sent-again',
    rule: '§5.5 an append not found: no retry, it may still land',
    edits: [
      edit(
        'engine/operations/append.ts',
        "      if (written.kind === 'unknown') return lookFor(engine, queue, addition, written.cause)\n      if (written.kind === 'done') {",
        `      if (written.kind === 'unknown') {
        record = await readRecord(engine, queue)
        const at = record && findAppend(addition, record)
        if (record !== undefined && at !== undefined) return places(record, at)
        continue
      }
      if (written.kind === 'done') {`,
      ),
    ],
    killers: [simulation(300, 'lost')],
  },
  {
    name: 'append-not-found-taken-for-success',
    rule: '§5.5 a lost answer is never guessed',
    edits: [
      edit(
        'engine/operations/append.ts',
        '  if (current === undefined || found === undefined) throw outcomeUnknown(queue, cause)\n  return places(current, found)\n',
        '  const guess = current && (found ?? startsAfterAppend(addition, current))\n  if (current === undefined || guess?.size !== addition.lanes.size) throw outcomeUnknown(queue, cause)\n  return places(current, guess)\n',
      ),
    ],
    killers: [simulation(300, 'lost')],
  },
  {
    name: 'append-not-found-taken-for-failure',
    rule: '§5.5 a lost answer is never guessed',
    edits: [
      edit(
        'engine/operations/append.ts',
        '  if (current === undefined || found === undefined) throw outcomeUnknown(queue, cause)\n',
        '  void cause\n  if (current === undefined || found === undefined) throw busy(queue)\n',
      ),
    ],
    killers: [simulation(300, 'lost')],
  },
  {
    name: 'first-push-sent-again',
    rule: '§5.5 a lost answer is never guessed',
    edits: [
      edit(
        'engine/operations/append.ts',
        '  if (current?.born !== born) throw outcomeUnknown(queue, written.cause)\n',
        "  if (current?.born !== born) return { kind: 'there', current }\n",
      ),
    ],
    killers: [simulation(300, 'lost'), simulation(600)],
  },
  {
    name: 'claim-not-found-is-sent-again',
    rule: '§5.5 a lost answer is never guessed',
    edits: [
      edit(
        'engine/operations/claim.ts',
        '    if (!record?.locks.has(claim.lockId)) throw outcomeUnknown(queue, written.cause)\n',
        "    if (!record?.locks.has(claim.lockId)) return { kind: 'lost', record }\n",
      ),
    ],
    killers: [simulation(300, 'lost')],
  },
  {
    name: 'claim-that-cannot-be-read-taken-for-failure',
    rule: '§6.6 a definite error changed nothing',
    edits: [
      edit(
        'engine/operations/claim.ts',
        '      throw changedAllTheSame(error)\n',
        '      throw error\n',
      ),
    ],
    killers: [test('test/proofs/mutants/answers.test.ts')],
  },
  {
    name: 'lost-acknowledge-taken-for-failure',
    rule: '§5.5 a lost answer is never guessed',
    edits: [
      edit(
        'engine/operations/settle.ts',
        '      throw lost !== undefined && !final ? outcomeUnknown(queue, lost) : standing.error\n',
        '      void final\n      throw standing.error\n',
      ),
    ],
    killers: [test('test/engine/doubt.test.ts', 'may yet land')],
  },
  {
    name: 'lost-extension-taken-for-failure',
    rule: '§5.5 a lost answer is never guessed',
    edits: [
      edit(
        'engine/operations/extend.ts',
        '      if (lost !== undefined) throw outcomeUnknown(queue, lost)\n',
        '',
      ),
    ],
    killers: [test('test/proofs/mutants/races.test.ts')],
  },
  {
    name: 'purge-in-part-taken-for-failure',
    rule: '§6.6 a definite error changed nothing',
    edits: [
      edit(
        'engine/operations/purge.ts',
        '    throw done.itemsPurged > 0 ? changedAllTheSame(error) : error\n',
        '    throw error\n',
      ),
    ],
    killers: [test('test/proofs/mutants/answers.test.ts')],
  },
  {
    name: 'sdk-retry-left-on',
    rule: '§5.5 the SDK’s own retry',
    edits: [
      edit(
        'foundation/sdk-retry.ts',
        '  middlewareStack?.add((next) => next, {\n',
        '  void middlewareStack\n  void ((next: unknown) => [next, {\n',
      ),
      edit(
        'foundation/sdk-retry.ts',
        '    override: true,\n  })\n',
        '    override: true,\n  }])\n',
      ),
    ],
    killers: [test('test/foundation/sdk-retry.test.ts')],
  },
  {
    name: 'server-error-taken-for-definite',
    rule: '§5.5 retry is for throttling only',
    edits: [
      edit(
        'foundation/outcome.ts',
        "status < 500 ? 'refused' : 'unknown'",
        "status < 500 ? 'refused' : status !== undefined ? 'throttled' : 'unknown'",
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'lost-transaction-sent-again',
    rule: '§5.5 retry is for throttling only',
    edits: [
      edit(
        'foundation/dynamo.ts',
        "        if (failure === 'unknown') return { kind: 'unknown', cause: error }\n",
        '',
      ),
    ],
    killers: [simulation(300, 'lost')],
  },
  {
    name: 'key-without-condition-on-its-receipt',
    rule: '§6.6 the same Idempotency-Key has one effect',
    edits: [
      edit(
        'engine/operations/push-once.ts',
        `      ConditionExpression: 'attribute_not_exists(pk) OR #ttl<=:now',
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ExpressionAttributeValues: { ':now': Math.floor(engine.clock.nowMs() / 1000) },
`,
        '',
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'key-blocked-by-an-expired-receipt',
    rule: '§6.6 one effect within the window',
    edits: [
      edit(
        'engine/operations/push-once.ts',
        `      ConditionExpression: 'attribute_not_exists(pk) OR #ttl<=:now',
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ExpressionAttributeValues: { ':now': Math.floor(engine.clock.nowMs() / 1000) },
`,
        "      ConditionExpression: 'attribute_not_exists(pk)',\n",
      ),
    ],
    killers: [test('test/engine/idempotent-push.test.ts', 'is forgotten after its time')],
  },
  {
    name: 'receipt-answers-another-body',
    rule: '§4 receipt: hash of the body',
    edits: [
      edit(
        'engine/operations/push-once.ts',
        '  if (receipt.hash !== once.hash) {\n',
        '  if (receipt.hash !== once.hash && receipt.hash === "") {\n',
      ),
    ],
    killers: [test('test/engine/idempotent-push.test.ts', 'conflicts with another body')],
  },
  {
    name: 'receipt-written-beside-the-append',
    rule: '§4 a transaction of receipt and append',
    edits: [
      edit(
        'engine/operations/push-once.ts',
        '    const transacted = await engine.dynamo.transact({\n      TransactItems: [receiptPut(engine, receipt), write] as never,\n    })\n',
        `    const put = await engine.dynamo.transact({ TransactItems: [receiptPut(engine, receipt)] as never })
    const appended = put.kind === 'done' ? await engine.dynamo.transact({ TransactItems: [write] as never }) : put
    const transacted = put.kind === 'done' && appended.kind === 'failed' ? { ...appended, reasons: [{ failed: false }, ...appended.reasons] } : appended
`,
      ),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'keyed-push-guesses-its-place',
    rule: '§4 an answer tells sequence numbers',
    edits: [
      edit('engine/operations/push-once.ts', '        ...(exact && { exactly: record }),\n', ''),
    ],
    killers: [simulation(300)],
  },
  {
    name: 'key-of-a-pop-ignored',
    rule: '§4 a pop’s key is kept on its lock',
    edits: [
      edit(
        'engine/core/pop.ts',
        '  if (keyHash === undefined) return undefined\n',
        '  if (keyHash !== "") return undefined\n',
      ),
    ],
    killers: [test('test/engine/idempotent-pop.test.ts')],
  },
  {
    name: 'combined-acknowledge-in-a-write-of-its-own',
    rule: '§4 acknowledging an earlier lock in the same write',
    edits: [
      edit(
        'engine/operations/pop.ts',
        '  request: PopRequest = {},\n): Promise<PopOutcome> {\n',
        `  request: PopRequest = {},
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
): Promise<PopOutcome> {
`,
      ),
      edit(
        'engine/operations/pop.ts',
        "import { hold } from './hold.ts'\n",
        "import { hold } from './hold.ts'\nimport { acknowledge as acknowledgeApart } from './settle.ts'\n",
      ),
    ],
    killers: [test('test/engine/acknowledge.test.ts', 'settles nothing'), simulation(300)],
  },
  {
    name: 'ended-locks-not-remembered',
    rule: '§7 acknowledge repeated: the first answer again',
    edits: [edit('engine/core/locks.ts', 'ended: ended.slice(-ENDED_KEPT)', 'ended: []')],
    killers: [test('test/engine/core/locks.test.ts')],
  },
  {
    name: 'conflict-of-transactions-taken-for-throttling',
    rule: '0008 a conflict passes within milliseconds',
    edits: [
      edit(
        'foundation/dynamo.ts',
        "failure === 'conflict' ? conflictPatience : steadyPatience",
        'steadyPatience',
      ),
    ],
    killers: [test('test/engine/transaction-conflicts.test.ts')],
  },
  {
    name: 'conflict-of-transactions-not-recognised',
    rule: '0008 a conflict passes within milliseconds',
    edits: [
      edit('foundation/dynamo.ts', "isConflict(error) ? 'conflict' : 'throttled'", "'throttled'"),
    ],
    killers: [test('test/engine/transaction-conflicts.test.ts')],
  },
]
