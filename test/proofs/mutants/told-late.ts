import { type Mutant, mutant, test } from './mutant.ts'

const claim = 'engine/verbs/pop-claim.ts'
const purgeScheduled = 'engine/verbs/purge.ts'
const toldLate = 'test/engine/told-late.test.ts'

/** Answers and writes that go by a record which has moved on since. */
// biome-ignore format: a mutant is a row
export const toldLateMutants: readonly Mutant[] = [
  mutant('claim-takes-back-what-was-purged', 'a lock holds nothing that is settled',
    [[claim, 'const { queue } = record const { lockId } = claim',
      `const { queue } = record
const { lockId } = claim
const { stretches } = record.locks.get(lockId) ?? { stretches: [] }`],
     [claim, 'const { stretches } = lock return {', 'return {']], test(toldLate, 'A claim')),
  mutant('claim-of-expired-items-leaves-no-mark', 'who takes the last leaves the mark',
    [claim, 'setsDry: engine.events && kept.length === 0', 'setsDry: false'], test(toldLate, 'as dry')),
  mutant('error-after-a-repeated-pop-that-acknowledged', 'guarantee 6: a definite error changed nothing',
    ['engine/verbs/pop.ts', "change = engine.records.change(record, draft, { nowMs }) return { kind: 'write', change, landed(after) { passing.itemsAcknowledged = itemsAcknowledged", "change = engine.records.change(record, draft, { nowMs })\nreturn { kind: 'write', change, landed(after) {"],
    test(toldLate, 'A repeated pop')),
  mutant('refusal-thrown-from-memory', 'rule 7: refusals come from the record as it is',
    ['engine/driver/attempts.ts', 'if (error instanceof QueueError) return refuse(error) throw error', 'throw error'],
    test(toldLate, 'as it is')),
  mutant('purge-guesses-whose-era-it-is', 'rule 5: a lost answer is never guessed',
    [purgeScheduled, '1 + Math.floor(random() * ERA_STEP_MAX)', '1 + Math.floor(random())'],
    test(toldLate, 'another purge')),
  mutant('purge-that-landed-late-not-counted', 'rule 5: a lost answer is never guessed',
    [purgeScheduled, "if (written.kind === 'failed') return this.#look(engine, record)", "if (written.kind === 'failed') return again(asStored(await engine.records.read(queue)))"],
    test(toldLate, 'lands after all')),
  mutant('redrive-hides-what-is-open', 'guarantee 6: a definite error changed nothing',
    ['engine/storing/move-across.ts', 'all.find(isOpen) ?? all[0]', 'all[0]'], test(toldLate, 'A redrive')),
  mutant('nothing-changed-in-words', 'guarantee 6: a definite error changed nothing',
    ['shared/errors.ts', "error.message.replace(NOTHING_CHANGED, 'a part was done before')", 'error.message'],
    test(toldLate, 'in words')),
  mutant('pop-that-stops-leaves-no-mark', 'who takes the last leaves the mark',
    ['engine/verbs/pop-take.ts', 'const change = engine.records.change(record, draft, { nowMs, setsDry: engine.events })', 'const change = engine.records.change(record, draft, { nowMs })'],
    test(toldLate, 'that stops')),
]
