// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { edit, type Mutant, simulation } from './mutant.ts'

const updates = 'engine/store/dry-update.ts'
const fenced = 'engine/store/fenced-update.ts'

/** The marks that events are made of: what is missed here is an event that never comes. */
export const markMutants: readonly Mutant[] = [
  {
    name: 'append-leaves-the-dry-mark',
    rule: 'dry: nothing is free',
    edits: [
      edit(
        'engine/store/append-update.ts',
        "  if (append.items > 0) update.removes.push('dry', 'ev')\n",
        "  if (append.items > 0) update.removes.push('ev')\n",
      ),
    ],
    killers: [simulation(200)],
  },
  {
    name: 'dry-whatever-was-appended-meanwhile',
    rule: 'dry: nothing is free',
    edits: [edit('engine/core/fence.ts', '(becomesDry || (dropsTimer', '((dropsTimer')],
    killers: [simulation(600)],
  },
  {
    name: 'dry-afterwards-whatever-was-appended',
    rule: 'dry: nothing is free',
    edits: [
      edit(
        updates,
        '  update.condition(`a=${update.value(seen.appends)}`)\n  update.condition(`g=',
        '  update.condition(`g=',
      ),
    ],
    killers: [simulation(600)],
  },
  {
    name: 'dry-afterwards-whatever-came-back',
    rule: 'dry: nothing is free',
    edits: [
      edit(
        updates,
        "  update.condition(`g=${update.value(seen.returns)}`)\n  update.set('dry', 'y')",
        "  update.set('dry', 'y')",
      ),
    ],
    killers: [simulation(3_000)],
  },
  {
    name: 'dry-mark-unseen-is-kept',
    rule: 'dry: nothing is free',
    edits: [
      edit(
        fenced,
        "  if (bringsBack) update.removes.push('dry')\n",
        "  if (bringsBack && before.dry) update.removes.push('dry')\n",
      ),
    ],
    killers: [simulation(3_000)],
  },
  {
    name: 'dry-mark-goes-with-any-write',
    rule: 'a dry queue stays marked until something comes',
    edits: [
      edit(
        fenced,
        "  if (bringsBack) update.removes.push('dry')\n",
        "  if (!after.dry || bringsBack) update.removes.push('dry')\n",
      ),
    ],
    killers: [simulation(600)],
  },
  {
    name: 'claim-of-the-last-leaves-no-mark',
    rule: 'who takes the last leaves the mark',
    edits: [
      edit(
        'engine/operations/claim.ts',
        '  const known = await leaveDryQuietly(engine, record)\n',
        '  const known = true\n',
      ),
    ],
    killers: [simulation(200)],
  },
  {
    name: 'pop-of-the-last-leaves-no-mark',
    rule: 'who takes the last leaves the mark',
    edits: [
      edit(
        'engine/operations/pop.ts',
        '  const known = await leaveDryQuietly(engine, committed.record)\n',
        '  const known = true\n',
      ),
    ],
    killers: [simulation(600)],
  },
  {
    name: 'empty-pop-leaves-no-mark',
    rule: 'who finds nothing leaves the mark',
    edits: [
      edit(
        'engine/operations/pop.ts',
        '          const left = await leaveDry(engine, record)\n',
        '          const left = record\n',
      ),
    ],
    killers: [simulation(600)],
  },
  {
    name: 'purge-leaves-no-mark',
    rule: 'who takes the last leaves the mark',
    edits: [
      edit(
        'engine/operations/purge.ts',
        '        await leaveDryQuietly(engine, committed.record)\n',
        '',
      ),
      edit('engine/operations/purge.ts', '        marksDry: engine.events && losses === 0,\n', ''),
    ],
    killers: [simulation(200)],
  },
  {
    name: 'empty-record-without-the-mark',
    rule: 'a record without items is dry',
    edits: [
      edit('engine/store/append-update.ts', "  if (append.items === 0) stored.dry = 'y'\n", ''),
    ],
    killers: [simulation(200)],
  },
  {
    name: 'returned-items-are-not-notable',
    rule: 'every transition wakes the stream',
    edits: [
      edit(
        'engine/core/fence.ts',
        'isNotable(before, pruned, bringsBack && begun === undefined)',
        'isNotable(before, pruned, false)',
      ),
    ],
    killers: [simulation(600)],
  },
  {
    name: 'dead-items-are-not-notable',
    rule: 'every transition wakes the stream',
    edits: [
      edit(
        'engine/core/marks.ts',
        '  if (bringsBack || deadIn(after) > deadIn(before)) return true\n',
        '  if (bringsBack) return true\n',
      ),
    ],
    killers: [simulation(600)],
  },
  {
    name: 'ended-locks-are-not-notable',
    rule: 'every transition wakes the stream',
    edits: [
      edit('engine/core/marks.ts', "?.ending !== 'acknowledged'\n", '?.ending === undefined\n'),
    ],
    killers: [simulation(600)],
  },
]
