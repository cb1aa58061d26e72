// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, simulation, test } from './mutant.ts'

const appendUpdate = 'engine/store/append-update.ts'
const fencedUpdate = 'engine/store/fenced-update.ts'
const append = 'engine/core/append.ts'
const notes = 'engine/core/notes.ts'
const seal = 'engine/operations/lanes/seal.ts'
const forget = 'engine/operations/sweeping/forget.ts'
const answers = 'engine/operations/pushing/first-answers.ts'
const pushes = 'engine/operations/pushing/append-pushes.ts'
const keyTest = 'test/engine/idempotent-push.test.ts'
const pushesTest = 'test/engine/append-pushes.test.ts'

const rule = '0005 one key, one effect, one answer'

/** Keys: noted by the append, and moved to receipts by others. */
// biome-ignore format: a mutant is a row
export const keyMutants: readonly Mutant[] = [
  mutant('key-noted-over-another', rule,
    [appendUpdate, 'update.condition(`attribute_not_exists(${update.name(noteName(hash))})`)', 'void hash'],
    test(keyTest, 'still a note'), simulation(300)),
  mutant('key-whose-note-has-left-by-its-mark', rule,
    [appendUpdate, 'update.condition(`NOT contains(km,${update.value(mark)})`)', 'void mark'],
    test(keyTest, 'has become a receipt')),
  mutant('key-whose-note-has-left-without-a-mark', rule,
    [appendUpdate, 'update.condition(`(attribute_not_exists(kx) OR kx<=${update.value(movedSoFar(newBy.moved))})`)', ''],
    test(keyTest, 'mark is forgotten')),
  mutant('key-with-a-mark-of-another', rule,
    [appendUpdate, 'update.condition(`km=${update.value(marks)}`)', ''],
    test(keyTest, 'same mark')),
  mutant('key-in-another-life-of-its-queue', rule,
    [appendUpdate, 'update.condition(`born=${update.value(newBy.born)}`)', ''],
    test(keyTest, 'outlived its queue')),
  mutant('receipts-not-looked-for', rule,
    [pushes, 'await answersOfReceipts(engine, queue, pending(group))', ''],
    test(keyTest, 'has one effect')),
  mutant('receipts-looked-for-in-stale-reads', rule,
    [answers, '? [await dynamo.get(receiptKey(queue, only), true)]', '? [await dynamo.get(receiptKey(queue, only), false)]'],
    simulation(600)),
  mutant('receipts-not-looked-for-again', rule,
    [append, 'if (mayHaveLeft(hashes, newBy, record) || hashes', 'if (hashes'],
    test(keyTest, 'has become a receipt'), simulation(600)),
  mutant('notes-leave-before-their-receipts', rule,
    [seal, '...receiptRows(record, notes, engine.clock.nowMs())', '...receiptRows(record, notes, engine.clock.nowMs()).slice(1)'], simulation(300)),
  mutant('notes-that-leave-are-not-counted', rule,
    [notes, 'const forgotten = record.moved.forgotten + ', 'const forgotten = record.moved.forgotten + 0 * '],
    simulation(300)),
  mutant('notes-lose-their-place', rule,
    [notes, "if (after.notes.size === 0) return after const cut", "if (after.notes.size >= 0) return after\nconst cut"],
    simulation(300)),
  mutant('notes-numbered-by-their-own-first-item', rule,
    [notes, 'start - place.offset >= sealed', 'start >= sealed'], test(pushesTest, 'cut between')),
  mutant('notes-forgotten-with-their-queue', rule,
    [[forget, 'await keepReceipts(engine, queue)', ''],
     [forget, 'record.notes.size > 0 ||', '']], simulation(600)),
  mutant('note-sealed-in-over-another', rule,
    [fencedUpdate, 'update.condition(`attribute_not_exists(${name})`)', ''],
    test(keyTest, 'lone producer')),
  mutant('push-in-doubt-called-a-repetition', 'a push whose answer was lost may itself have had the effect',
    [append, 'if (note === undefined || !isSameNote(note, sent)) continue', 'if (note === undefined || sent !== undefined) continue'],
    test(keyTest, 'answer lost')),
  mutant('first-push-with-its-note-in-a-new-record', rule,
    ['engine/operations/pushing/append.ts', 'if (appending.newBy !== undefined) return again(record)', ''],
    simulation(300)),
  mutant('key-blocked-by-an-expired-note', '0005 a key is remembered for a day',
    [pushes, 'if (isExpiredIn(engine, newBy, pending(group))) {', 'if (group.length === 0) {'],
    test(keyTest, 'is forgotten after its time')),
  mutant('key-blocked-by-an-expired-receipt', '0005 a key is remembered for a day',
    [answers, 'row === undefined || isOver(row.ttl, clock.nowMs())', 'row === undefined'],
    test(keyTest, 'is forgotten after its time')),
  mutant('receipt-of-an-expired-note-over-its-successor', '0005 a key is remembered for a day',
    ['engine/store/receipt-rows.ts', 'if (isOver(ttl, nowMs)) continue', ''],
    test(keyTest, 'remembered the record for long')),
  mutant('receipt-answers-another-body', rule,
    [answers, 'if (bodyHash !== call.bodyHash) {', "if (bodyHash === '') {"],
    test(keyTest, 'conflicts with another body')),
  mutant('messages-applied-twice-by-their-last', '0005 a message of the inbox is applied once',
    [appendUpdate, 'comesAfter(update, sequence.first)', 'comesAfter(update, sequence.last)'],
    test(pushesTest, 'some of its messages')),
  mutant('messages-overtake-one-there-is-no-room-for', '0005 a message of the inbox is applied once',
    ['engine/operations/pushing/calls.ts',
     "push.sequence !== undefined && outcome?.kind === 'failed'", 'false && push && outcome'],
    test(pushesTest, 'overtakes')),
  mutant('a-key-twice-in-one-append', rule,
    ['engine/operations/pushing/calls.ts', 'keys.has(keyHash) ||', ''],
    test(pushesTest, 'same key')),
  mutant('append-in-doubt-not-known-by-its-receipt', '§5.5 a lost answer is never guessed',
    [pushes, 'if (receipt?.tag !== sent.tag) continue', 'if (receipt?.tag !== undefined) continue'],
    test(pushesTest, 'become a receipt meanwhile')),
  mutant('append-in-doubt-taken-for-its-twin', '§5.5 a lost answer is never guessed',
    [notes, 'recorded.slice(0, PLACES_AT) === sent.slice(0, PLACES_AT)', 'recorded.slice(0, TAG_AT) === sent.slice(0, TAG_AT)'],
    test(pushesTest, 'same millisecond')),
]
