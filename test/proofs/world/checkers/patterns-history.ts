import type { Configuration } from '../../../../lambdas/engine/core/configuration.ts'
import { queuePatternsKey } from '../../../../lambdas/engine/core/keys.ts'
import type { QueuePatternInput } from '../../../../lambdas/engine/queues.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { Command } from '../actors/callers/command.ts'
import type { Model } from './model.ts'

/** Every revision of the patterns that there ever was, as those who put them meant it. */
export class PatternsHistory {
  readonly #revisions: (readonly QueuePatternInput[])[] = [[]]

  /** The newest. */
  get current(): readonly QueuePatternInput[] {
    return this.#revisions.at(-1) as readonly QueuePatternInput[]
  }

  get revision(): number {
    return this.#revisions.length - 1
  }

  /** From this revision on. */
  since(revision: number): readonly (readonly QueuePatternInput[])[] {
    return this.#revisions.slice(revision)
  }

  add(patterns: readonly QueuePatternInput[]): void {
    this.#revisions.push(patterns)
  }
}

function patternsIn(command: Command | undefined): readonly QueuePatternInput[] | undefined {
  if (command?.verb === 'configurePatterns') return command.patterns
  if (command?.verb !== 'deployPatterns') return undefined
  return command.rest[0] as readonly QueuePatternInput[]
}

export function notePatterns(model: Model, change: Change): void {
  const { pk, sk } = queuePatternsKey
  if (change.pk !== pk || change.sk !== sk) return
  const { operation, patterns } = model
  const put = change.newItem === undefined ? undefined : patternsIn(operation?.command)
  if (operation === undefined || change.newItem === undefined || put === undefined) {
    model.violated('only those who put patterns change them', change.pk)
    return
  }
  const { r } = change.newItem
  if (r !== patterns.revision + 1) {
    model.violated('the revision of the patterns counts', `${patterns.revision} to ${r}`)
  }
  patterns.add(put)
  operation.effects.configured += 1
  model.noteEffect('the patterns were changed')
}

/**
 * What a queue without settings of its own has, thought out anew: all that the longest prefix names, and what
 * it does not name by default. It asks nothing of the code that it judges.
 */
export function settingsBy(patterns: readonly QueuePatternInput[], queue: string): string {
  let longest: QueuePatternInput | undefined
  for (const one of patterns) {
    if (queue.endsWith('-deadletter') || queue.slice(0, one.prefix.length) !== one.prefix) continue
    if (longest === undefined || one.prefix.length > longest.prefix.length) longest = one
  }
  const given: Record<string, unknown> = { segmentSize: 100, bufferSegments: 1 }
  for (const [name, value] of Object.entries(longest?.settings ?? {})) {
    given[name] = name.endsWith('Limit')
      ? { algorithm: 'window', burst: 1, ...(value as object) }
      : value
  }
  return textOf({ ...given, source: longest?.prefix ?? null })
}

/** The same of a record. */
export function settingsOf({
  revision: _,
  patternsRevision: __,
  source,
  ...settings
}: Configuration): string {
  return textOf({ ...settings, source: source.from === 'pattern' ? source.prefix : null })
}

function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([name, inner]) => `${name}:${textOf(inner)}`).join()}}`
}
