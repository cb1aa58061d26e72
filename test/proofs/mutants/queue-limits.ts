// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { edit, type Mutant, simulation, test } from './mutant.ts'

const rule = 'nothing gets by a queue’s limit'
const tests = 'test/engine/queue-limits.test.ts'

/** `push_limit` and `pop_limit`: every way round them, and what they must not cost. */
export const queueLimitMutants: readonly Mutant[] = [
  {
    name: 'append-of-a-cold-process-asks-for-no-limit',
    rule,
    edits: [
      edit(
        'engine/store/append-update.ts',
        "  if (!admitted) update.condition('attribute_not_exists(cfg.pl)')\n",
        '  void admitted\n',
      ),
    ],
    killers: [simulation(300, 'limited')],
  },
  {
    name: 'claim-by-an-old-view-asks-for-no-limit',
    rule,
    edits: [
      edit(
        'engine/store/lock-updates.ts',
        "  if (!admitted) update.condition('attribute_not_exists(cfg.ol)')\n",
        '  void admitted\n',
      ),
    ],
    killers: [test(tests, 'A pop limit holds for all processes together, competing')],
  },
  {
    name: 'push-that-knows-of-the-limit-goes-all-the-same',
    rule,
    edits: [
      edit(
        'engine/operations/append.ts',
        "await passLimit(engine, 'push', record, receivedMs)",
        'true',
      ),
    ],
    killers: [simulation(300, 'limited')],
  },
  {
    name: 'keyed-push-goes-without-a-slot',
    rule,
    edits: [
      edit(
        'engine/operations/push-once.ts',
        "await passLimit(engine, 'push', record, once.receivedMs)",
        'true',
      ),
    ],
    killers: [test(tests, 'Idempotency-Key')],
  },
  {
    name: 'transaction-goes-without-a-slot',
    rule,
    edits: [
      edit(
        'engine/operations/transact-item.ts',
        "await passLimit(engine, 'push', record, undefined)",
        'true',
      ),
    ],
    killers: [test(tests, 'part of a transaction')],
  },
  {
    name: 'pop-goes-without-a-slot',
    rule,
    edits: [
      edit(
        'engine/operations/pop.ts',
        "await passLimit(engine, 'pop', record, request.receivedMs)",
        'true',
      ),
    ],
    killers: [simulation(300, 'limited')],
  },
  {
    name: 'wide-push-of-a-cold-process-asks-for-no-limit',
    rule,
    edits: [
      edit(
        'engine/operations/append.ts',
        '    if (wide) record ??= await readRecord(engine, queue)\n    if (!admitted && ',
        '    const cold = record === undefined\n    if (wide) record ??= await readRecord(engine, queue)\n    if (!cold && !admitted && ',
      ),
    ],
    killers: [test(tests, '200 lanes')],
  },
  {
    name: 'slot-counted-by-any-clock',
    rule: 'a clock far off the gateway’s is refused',
    edits: [edit('rate/operations/guard.ts', '{ receivedMs }, settings', '{}, settings')],
    killers: [test(tests, 'A clock far off')],
  },
  {
    name: 'old-limit-hands-its-rules-to-the-row',
    rule: 'a lowered limit holds for those who remember the one before',
    edits: [
      edit('rate/operations/guard.ts', '  revision,\n  configured', '  revision: 0,\n  configured'),
    ],
    killers: [test(tests, 'who remember the one before')],
  },
  {
    name: 'limit-that-is-gone-denies-for-ever',
    rule: 'a changed limit is felt within ten seconds',
    edits: [
      edit(
        'engine/operations/pass-limit.ts',
        '  if (engine.clock.nowMs() - seenMs > LIMIT_TRUSTED_MS) {\n',
        '  if (engine.clock.nowMs() - seenMs > LIMIT_TRUSTED_MS * 1_000) {\n',
      ),
    ],
    killers: [test(tests, 'raised or taken away')],
  },
  {
    name: 'denial-looks-again-each-time',
    rule: 'a caller far above a limit costs nothing',
    edits: [
      edit(
        'engine/operations/pass-limit.ts',
        '  if (engine.clock.nowMs() - seenMs > LIMIT_TRUSTED_MS) {\n',
        '  if (engine.clock.nowMs() - seenMs > LIMIT_TRUSTED_MS * 0 - 1) {\n',
      ),
    ],
    killers: [test(tests, 'denies from memory')],
  },
  {
    name: 'lost-slot-told-as-a-push-in-doubt',
    rule: 'never lie',
    edits: [
      edit(
        'engine/operations/pass-limit.ts',
        '    if (!(error instanceof QueueError)) throw error\n',
        '    if (error instanceof QueueError) throw error\n',
      ),
    ],
    killers: [test(tests, 'out of reach')],
  },
  {
    name: 'batch-stored-before-the-limit-is-asked',
    rule: 'a caller far above a limit costs nothing',
    edits: [
      edit('engine/operations/push.ts', 'await passKnownLimit(engine, queue, receivedMs)', 'false'),
    ],
    killers: [test(tests, 'denies from memory')],
  },
  {
    name: 'dead-letters-held-up-by-a-limit',
    rule: 'what the service moves is no call',
    edits: [
      edit('engine/store/append-update.ts', '    admitted = anyway,\n', '    admitted = false,\n'),
    ],
    killers: [test(tests, 'dead letters')],
  },
]
