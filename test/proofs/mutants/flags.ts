// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, simulation, test } from './mutant.ts'

const appendUpdate = 'engine/requests/append-update.ts'
const fence = 'engine/core/fence.ts'
const dryUpdate = 'engine/requests/blind-updates.ts'
const fencedUpdate = 'engine/requests/fenced-update.ts'
const take = 'engine/verbs/pop-take.ts'
const purge = 'engine/verbs/purge.ts'
const marks = 'engine/core/fence.ts'
const room = 'test/engine/room-in-flight.test.ts'

/** The marks that events are made of: what is missed here is an event that never comes. */
// biome-ignore format: a mutant is a row
export const flagMutants: readonly Mutant[] = [
  mutant('append-leaves-the-dry-mark', 'dry: nothing is free',
    [appendUpdate,
     "if (append.items > 0) update.removes.push('dry', 'ev')",
     "if (append.items > 0) update.removes.push('ev')"], simulation(200)),
  mutant('dry-whatever-was-appended-meanwhile', 'dry: nothing is free',
    [fence, 'becomesDry || (dropsTimer', '(dropsTimer'], simulation(600)),
  mutant('dry-afterwards-whatever-was-appended', 'dry: nothing is free',
    [dryUpdate,
     'update.condition(`a=${update.value(seen.appends)}`) update.condition(`g=',
     'update.condition(`g='], simulation(600)),
  mutant('dry-afterwards-whatever-came-back', 'dry: nothing is free',
    [dryUpdate,
     "update.condition(`g=${update.value(seen.returns)}`) update.set('dry', 'y')",
     "update.set('dry', 'y')"], simulation(3000)),
  mutant('dry-mark-unseen-is-kept', 'dry: nothing is free',
    [fencedUpdate,
     "if (bringsBack) update.removes.push('dry')",
     "if (bringsBack && before.dry) update.removes.push('dry')"], simulation(3000)),
  mutant('dry-mark-goes-with-any-write', 'a dry queue stays marked until something comes',
    [fencedUpdate,
     "if (bringsBack) update.removes.push('dry')",
     "if (!after.dry || bringsBack) update.removes.push('dry')"], simulation(600)),
  mutant('claim-of-the-last-leaves-no-mark', 'who takes the last leaves the mark',
    ['engine/verbs/pop-claim.ts',
     'const known = await leaveDryQuietly(engine, left)',
     'const known = true'], simulation(200)),
  mutant('pop-of-the-last-leaves-no-mark', 'who takes the last leaves the mark',
    [take, 'const known = await leaveDryQuietly(engine, after)', 'const known = true'],
    simulation(600)),
  mutant('empty-pop-leaves-no-mark', 'who finds nothing leaves the mark',
    [take, 'const left = await leaveDry(engine, { record, isCurrent })', 'const left = record'], simulation(600)),
  mutant('purge-leaves-no-mark', 'who takes the last leaves the mark',
    [[purge, 'await leaveDryQuietly(engine, after) return done(purgedSoFar())', 'return done(purgedSoFar())'],
     [purge, 'setsDry: engine.events && losses === 0,', '']], simulation(200)),
  mutant('empty-record-without-the-mark', 'a record without items is dry',
    [appendUpdate,
     "if (append.items === 0) stored.dry = 'y'", 'if (append.items === 0) void 0'], simulation(200)),
  mutant('returned-items-are-not-notable', 'every transition wakes the stream',
    [fence,
     'isNotable(before, pruned, bringsBack && !isAppended)',
     'isNotable(before, pruned, false)'], simulation(600)),
  mutant('dead-items-are-not-notable', 'every transition wakes the stream',
    [marks,
     'if (bringsBack || deadIn(after) > deadIn(before)) return true',
     'if (bringsBack) return true'], simulation(600)),
  mutant('sleeps-beside-the-crowd', 'every transition wakes the stream',
    [marks,
     'letsExpireAgain(before, after) || mayLetLockAgain(before, after)',
     'letsExpireAgain(before, after)'], test(room, 'when the first of the dead have moved'), simulation(10, 'crowded')),
  mutant('announces-no-room-in-flight', 'every transition wakes the stream',
    ['engine/core/views.ts',
     'letsExpireAgain(before, after) || letsLockAgain(before, after)',
     'letsExpireAgain(before, after)'], test(room, 'when the first of the dead have moved')),
  mutant('marks-room-in-flight-by-what-the-writer-saw', 'every transition wakes the stream',
    [marks,
     'letsExpireAgain(before, after) || mayLetLockAgain(before, after)',
     'letsExpireAgain(before, after) || (letsLockAgain(before, after) && mayLetLockAgain !== undefined)'],
    test(room, 'though claims came between')),
  mutant('announces-what-a-holder-acknowledged', 'a holder at work needs no event',
    [marks, '&& roomIn(asSettledByHolders(before, after)) === 0', ''], test(room, 'the holder pops again')),
  mutant('ended-locks-are-not-notable', 'every transition wakes the stream',
    [marks, "?.ending !== 'acknowledged'", '?.ending === undefined'], simulation(600)),
]
