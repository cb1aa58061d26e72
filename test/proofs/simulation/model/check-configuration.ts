import { isDeepStrictEqual } from 'node:util'
import type { Configuration } from '../../../../lambdas/engine/core/configuration.ts'
import { queuePatternsKey } from '../../../../lambdas/engine/core/keys.ts'
import {
  configurationBy,
  noQueuePatterns,
  type QueuePatterns,
} from '../../../../lambdas/engine/core/queue-patterns.ts'
import { decodeQueuePatterns } from '../../../../lambdas/engine/store/queue-patterns-row.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { Model } from './model.ts'
import type { Snapshot } from './snapshot.ts'

/** Every revision of the patterns that there ever was. */
export class PatternsHistory {
  readonly #revisions: QueuePatterns[] = [noQueuePatterns]

  /** The newest. */
  get current(): QueuePatterns {
    return this.#revisions.at(-1) as QueuePatterns
  }

  /** From this revision on. */
  since(revision: number): readonly QueuePatterns[] {
    return this.#revisions.slice(revision)
  }

  /** Whether the row of the patterns has a new revision; it may only be the next. */
  note(change: Change, model: Model): boolean {
    if (change.pk !== queuePatternsKey.pk || change.newItem === undefined) return false
    const { revision, patterns } = decodeQueuePatterns(change.newItem)
    const before = this.current.revision
    if (revision === before) {
      if (!isDeepStrictEqual(patterns, this.current.patterns)) {
        model.violated('patterns change with their revision', String(revision))
      }
      return false
    }
    if (revision !== before + 1) {
      model.violated('the revision of the patterns counts', `${before} to ${revision}`)
    }
    this.#revisions.push({ revision, patterns })
    return true
  }
}

export function notePatterns(model: Model, change: Change): void {
  if (!model.patterns.note(change, model)) return
  const { operation } = model
  if (operation?.command.verb !== 'configurePatterns') {
    model.violated('only configurePatterns changes the patterns', change.pk)
    return
  }
  operation.effects.configured += 1
  model.noteEffect('the patterns were changed')
}

/** Who may change a queue's settings, and to what. */
export function noteConfiguration(
  model: Model,
  before: Snapshot | undefined,
  after: Snapshot,
): void {
  const { queue, configuration } = after.record
  const old = before?.record.configuration
  if (old !== undefined && isDeepStrictEqual(old, configuration)) return
  if (configuration.source.from !== 'queue') checkSettings(model, queue, configuration)
  const { operation } = model
  const verb = operation?.command.verb
  const revision = old?.revision ?? 0
  const changed = `${queue}: ${revision} (${old?.source.from}) to ${configuration.revision} (${configuration.source.from})`
  if (configuration.revision === revision) {
    if (old === undefined) return
    model.queue(queue).configuredAtCommit = model.commits
    model.world.statistics.count('path patterns applied')
    if (verb !== 'returnExpiredLocks' || old.source.from === 'queue') {
      model.violated('only the walk applies patterns, and to no queue’s own settings', changed)
    }
    if ((configuration.patternsRevision ?? 0) <= (old.patternsRevision ?? 0)) {
      model.violated('newer patterns take the place of older ones', changed)
    }
    return
  }
  const isOwn = configuration.source.from === 'queue'
  if (configuration.revision !== revision + 1 || verb !== (isOwn ? 'configure' : 'unconfigure')) {
    model.violated('only configure changes the configuration', changed)
    return
  }
  if (!isOwn) model.world.statistics.count('path given back to its pattern')
  if (operation !== undefined) operation.effects.configured += 1
  model.queue(queue).configuredAtCommit = model.commits
  model.noteEffect('the configuration was changed')
}

/** Whole, of the longest prefix, as one revision of the patterns had it. */
function checkSettings(model: Model, queue: string, configuration: Configuration): void {
  const { source, patternsRevision = 0 } = configuration
  if (source.from === 'pattern') model.world.statistics.count('path under a pattern')
  // Settings of no pattern do not say by which revision there was none.
  const isOf = source.from === 'pattern' ? 1 : Number.POSITIVE_INFINITY
  const candidates = model.patterns.since(patternsRevision).slice(0, isOf)
  const settings = settingsOf(configuration)
  if (candidates.some((one) => settings === settingsOf(configurationBy(one, queue)))) return
  model.violated(
    'settings are those of the longest prefix, whole',
    `${queue} has ${settings} of revision ${patternsRevision}`,
  )
}

/** After a walk that began when nothing was under way any more. */
export function checkPatternsApplied(model: Model): void {
  for (const { queue, current } of model.queues()) {
    if (current === undefined) continue
    const { configuration } = current.record
    if (configuration.source.from === 'queue') continue
    const wanted = settingsOf(configurationBy(model.patterns.current, queue))
    if (settingsOf(configuration) === wanted) continue
    model.violated(
      'every queue without settings of its own has those of the newest patterns',
      `${queue} has ${settingsOf(configuration)}, not ${wanted}`,
    )
  }
}

function settingsOf({ revision, patternsRevision, ...settings }: Configuration): string {
  return JSON.stringify(Object.entries(settings).sort(([a], [b]) => (a < b ? -1 : 1)))
}
