// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, test } from './mutant.ts'

const appendPushes = 'engine/operations/pushing/append-pushes.ts'
const apply = 'engine/operations/pushing/apply.ts'
const applyBatch = 'inbox/apply-batch.ts'
const sequence = 'engine/core/sequence.ts'
const sequenceUpdate = 'engine/store/sequence-update.ts'
const applyTest = 'test/engine/apply.test.ts'
const batchTest = 'test/inbox/apply-batch.test.ts'
const sendTest = 'test/inbox/send.test.ts'
const crashTest = 'test/proofs/inbox-simulation/crash.test.ts'
const simulationTest = 'test/proofs/inbox-simulation/inbox-simulation.test.ts'

/** The inbox: once and in order, whatever comes again. */
// biome-ignore format: a mutant is a row
export const inboxMutants: readonly Mutant[] = [
  mutant('inbox-message-is-applied-whatever-was', '0032 the record tells how far a queue has come',
    [sequenceUpdate, 'update.condition(`(attribute_not_exists(sn) OR ${isBelow} OR ${isBeyond})`)',
     'void [isBelow, isBeyond]'], test(crashTest), test(simulationTest)),
  mutant('inbox-sequence-is-not-noted', '0032 the record tells how far a queue has come',
    ['engine/store/append-update.ts', "update.set('sn', sequence.last)", 'void update'],
    test(applyTest)),
  mutant('inbox-sequence-numbers-compare-as-they-come', '0032 as texts of one length',
    [sequence, "number.padStart(DIGITS, '0')", 'number'], test(applyTest, 'whatever their length')),
  mutant('inbox-another-inbox-counts-as-the-same', '0032 numbers of another inbox say nothing',
    [sequence, 'inboxOf(record.sequence) === inboxOf(sequence) &&', ''],
    test(applyTest, 'made again')),
  mutant('inbox-queue-is-forgotten-while-messages-may-come-again', '0032 remembered longer than SQS delivers',
    ['engine/core/fence.ts', 'neededUntilMs(record))', '0)'], test(applyTest, 'is remembered')),
  mutant('inbox-refused-message-is-buried-beside-the-sequence', '0032 once, in one transaction',
    ['engine/operations/moving/bury-message.ts',
     'const draft = { ...record, sequence: appliedAt(sequence, nowMs) }',
     'void appliedAt; const draft = { ...record }'], test(applyTest, 'with its reason, once')),
  mutant('inbox-batch-of-an-open-append-deleted', '§5.5 it may have landed',
    [appendPushes, 'appended.inDoubt && (addition.notes?.size ?? 0) === 0', 'false'],
    test(simulationTest)),
  mutant('inbox-repetition-leaves-no-trace', '0032 done for good',
    [apply, "if (passed.at(-1)?.kind === 'repeated') {", 'if (passed.length < 0) {'],
    test(applyTest, 'when the key is forgotten')),
  mutant('inbox-repetition-ahead-of-what-waits-leaves-no-trace', '0032 done for good',
    [apply, "if (passed.at(-1)?.kind === 'repeated') {",
     "if (failedAt === -1 && passed.at(-1)?.kind === 'repeated') {"],
    test(applyTest, 'the one behind it has to wait')),
  mutant('inbox-repetition-is-noted-in-a-record-that-is-gone', '0032 done for good',
    [apply, "record = seen(engine, queue, written.row) if (written.kind === 'done') return", 'return'],
    test(applyTest, 'the process remembers is')),
  mutant('inbox-repetition-is-settled-before-it-is-noted', '0032 done for good',
    [apply, 'await notePassed(engine, queue, run[passed.length - 1] as InboxMessage)',
     'await notePassed(engine, queue, run[passed.length - 1] as InboxMessage).catch(() => {})'],
    test(applyTest, 'could not note it')),
  mutant('inbox-wide-push-of-a-message-that-has-passed', '0032 once, whatever comes again',
    ['engine/store/append-update.ts',
     'if (append.sequence !== undefined) comesAfter(update, append.sequence.first)', ''],
    test(applyTest, 'to 41 priorities')),
  mutant('inbox-copy-is-sent-when-sqs-has-forgotten-it', '0032 a lost answer is sent again',
    ['inbox/send.ts', 'if (isOpen && clock.nowMs() >= untilMs) throw notSent(isOpen, error)', 'void untilMs'],
    test(sendTest, 'frozen')),
  mutant('inbox-accepts-times-that-never-pass', '0032 refused before it is accepted',
    ['inbox/send.ts', 'checkTimesOf(request, clock.nowMs())', 'void checkTimesOf'],
    test(sendTest, 'too far away')),
  mutant('inbox-what-is-behind-a-failure-is-deleted', '0032 order within a queue',
    [applyBatch, 'const left = group.records.slice(settled)',
     'const left = group.records.slice(settled, settled + 1)'], test(batchTest, 'all behind it')),
  mutant('inbox-full-queue-loses-its-messages', '0032 nothing accepted is lost',
    ['engine/operations/pushing/apply.ts', 'return nowMs < waitsUntilMs', 'return false'],
    test(applyTest, 'keeps the message waiting')),
  mutant('inbox-what-never-fits-waits', '0032 waiting would only hold up what is behind',
    ['engine/operations/pushing/apply.ts', 'if (!error.retryable) {', 'if (items.length < 0) {'], test(applyTest, 'never fit')),
  mutant('inbox-given-up-message-is-pushed-a-day-later', '0032 done for good',
    ['engine/operations/pushing/apply.ts', 'await giveUp(message, reason) // Only then: once the record has passed a message, no run applies it any more. await notePassed(engine, queue, message)',
     'await giveUp(message, reason)'], test(applyTest, 'given up is not pushed')),
  mutant('inbox-message-is-passed-before-it-is-kept', '0032 nothing accepted is lost',
    ['engine/operations/pushing/apply.ts', 'await giveUp(message, reason)',
     'await notePassed(engine, queue, message); await giveUp(message, reason)'],
    test(applyTest, 'not passed over')),
  mutant('inbox-full-dead-letters-hold-up-the-queue', '0032 what is refused holds up nothing',
    ['engine/operations/moving/bury-message.ts', "error.code !== 'TOO_MANY_PRIORITIES'", 'true'],
    test(applyTest, 'a thousand priorities')),
  mutant('inbox-deduplication-id-is-made-for-each-sending', '0032 a lost answer is sent again',
    ['inbox/send.ts', 'return await port.send(message)',
     'return await port.send({ ...message, deduplicationId: String(random()) })'],
    test(sendTest, 'under the id')),
  mutant('inbox-key-alone-deduplicates', '0032 nobody would hear of the other items',
    ['inbox/message.ts', 'hashOf(idempotencyKey, body)', 'hashOf(idempotencyKey)'],
    test(sendTest, 'used key')),
  mutant('inbox-lost-answer-of-the-inbox-is-a-refusal', '§5.5 a lost answer is never guessed',
    ['inbox/send.ts', "isOpen ||= failure === 'unknown'", "isOpen ||= false"],
    test(sendTest, 'is not known')),
  mutant('inbox-sequence-without-its-time', '0032 remembered longer than SQS delivers',
    [appendPushes, 'appliedAt(last, prepared.pushedAtMs)', 'last'], test(applyTest, 'is remembered')),
]
