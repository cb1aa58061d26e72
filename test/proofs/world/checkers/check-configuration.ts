import { isDeepStrictEqual } from 'node:util'
import { queuePatternsKey } from '../../../../engine/core/keys.ts'
import type { Configuration } from '../../../../engine/core/settings.ts'
import type { QueuePatternInput } from '../../../../engine/queues.ts'
import { guardKey, rowKey } from '../../../../rate/core/row.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { Command } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import type { Model } from './model.ts'
import type { Put, Snapshot } from './snapshot.ts'

/** Who may change a queue's settings, and to what. */
export function noteConfiguration(put: Put): void {
  const { model, queue, queueModel, operation, before, after } = put
  if (before !== undefined && before.stored.cfg === after.stored.cfg) return
  const { configuration } = after.record
  const old = before?.record.configuration
  if (old !== undefined && isDeepStrictEqual(old, configuration)) return
  if (configuration.source.from !== 'queue') checkSettings(model, queue, configuration)
  const verb = operation?.command.verb
  const revision = old?.revision ?? 0
  const changed = `${queue}: ${revision} (${old?.source.from}) to ${configuration.revision} (${configuration.source.from})`
  if (configuration.revision === revision) {
    if (old === undefined) return
    queueModel.configuredAtCommit = model.commits
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
  if ((configuration.patternsRevision ?? 0) < (old?.patternsRevision ?? 0)) {
    model.violated('the revision of limits never goes back', changed)
  }
  if (isOwn && old?.source.from !== 'queue') checkFirstOwn(model, configuration, changed)
  if (configuration.revision !== revision + 1 || verb !== (isOwn ? 'configure' : 'unconfigure')) {
    model.violated('only configure changes the configuration', changed)
    return
  }
  if (!isOwn) model.world.statistics.count('path given back to its pattern')
  if (operation !== undefined) operation.effects.configured += 1
  queueModel.configuredAtCommit = model.commits
  model.noteEffect('the configuration was changed')
}

/** Whole, of the longest prefix, as one revision of the patterns had it. */
function checkSettings(model: Model, queue: string, configuration: Configuration): void {
  const { source, patternsRevision = 0 } = configuration
  if (source.from === 'pattern') model.world.statistics.count('path under a pattern')
  // Settings of no pattern do not say by which revision there was none.
  const isOf = source.from === 'pattern' ? 1 : Number.POSITIVE_INFINITY
  const candidates = model.patterns.slice(patternsRevision, patternsRevision + isOf)
  const settings = settingsOf(configuration)
  if (candidates.some((one) => settings === settingsBy(one, queue))) return
  const what = `${queue} has ${settings} of revision ${patternsRevision}`
  model.violated('settings are those of the longest prefix, whole', what)
}

/** A queue's first own settings begin with the defaults, and not with those of its pattern. */
function checkFirstOwn(model: Model, configuration: Configuration, changed: string): void {
  const { command } = model.operation ?? {}
  if (command?.verb !== 'configure') return
  const { request } = command
  const limits = ['capacity', 'pushLimit', 'popLimit'] as const
  for (const name of [...limits, 'maxDeliveries', 'itemTtlSeconds', 'expired'] as const) {
    if (configuration[name] === undefined || request[name]) continue
    model.violated('own settings count whole', `${name} of ${changed}`)
  }
}

/** After a walk that met every queue. */
export function checkPatternsApplied(model: Model): void {
  for (const { queue, current } of model.queues()) {
    if (current === undefined) continue
    const { configuration } = current.record
    if (configuration.source.from === 'queue') continue
    const wanted = settingsBy(model.patterns.at(-1) ?? [], queue)
    if (settingsOf(configuration) === wanted) continue
    const what = `${queue} has ${settingsOf(configuration)}, not ${wanted}`
    model.violated('every queue without settings of its own has those of the newest patterns', what)
  }
}

function patternsIn(command: Command | undefined): readonly QueuePatternInput[] | undefined {
  if (command?.verb === 'configurePatterns') return command.patterns
  return command?.verb === 'deployPatterns'
    ? (command.rest[0] as readonly QueuePatternInput[])
    : undefined
}

export function notePatterns(model: Model, { pk, sk, newItem }: Change): void {
  if (pk !== queuePatternsKey.pk || sk !== queuePatternsKey.sk) return
  const { operation, patterns } = model
  const put = patternsIn(operation?.command)
  if (operation === undefined || newItem === undefined || put === undefined) {
    model.violated('only those who put patterns change them', pk)
    return
  }
  if (newItem.r !== patterns.length) {
    model.violated('the revision of the patterns counts', `${patterns.length - 1} to ${newItem.r}`)
  }
  patterns.push(put)
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

function settingsOf({ source, ...settings }: Configuration): string {
  const own = { ...settings, revision: undefined, patternsRevision: undefined }
  return textOf({ ...own, source: source.from === 'pattern' ? source.prefix : null })
}

function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const given = Object.entries(value).filter(([, inner]) => inner !== undefined)
  const entries = given.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([name, inner]) => `${name}:${textOf(inner)}`).join()}}`
}

const pushing = /^(push|pushTransactItem|transact|apply)$/

/** Every write to the row of a queue's limit takes a slot of it. */
export function isSlotOf({ command }: Operation, { pk, newItem }: Change): boolean {
  const verb = pushing.test(command.verb) ? 'push' : command.verb
  if (newItem === undefined || (verb !== 'push' && verb !== 'pop')) return false
  return pk === rowKey(guardKey(verb, command.queue), 0).pk
}

/** The rules of the limit whose slot this write took. */
export function noteSlot({ effects }: Operation, { newItem }: Change): void {
  const [rules = ''] = String(newItem?.e).split('~')
  effects.slots.add(rules)
}

/** By the limit that the record had at the moment of the write, whatever the caller knew of it. */
export function checkLimit(model: Model, { record }: Snapshot, setting: 'pushLimit' | 'popLimit') {
  const { operation } = model
  const limit = record.configuration[setting]
  if (limit === undefined) return
  // A message that cannot be pushed is moved to the dead letters: no limit of theirs holds it up.
  if (operation?.command.verb === 'apply' && operation.command.queue !== record.queue) return
  model.world.statistics.count(`path under a ${setting}`)
  const { maxRequests, windowMillis, algorithm, burst } = limit
  const rules = `${maxRequests}/${windowMillis}`
  const slot = algorithm === 'smooth' ? `s${rules}x${burst}` : `w${rules}`
  const slots = operation?.effects.slots
  if (slots === undefined || slots.has(slot)) return
  const had = [...slots].join() || 'none'
  model.violated('nothing gets by a limit', `${setting} ${slot} of ${record.queue}: had ${had}`)
}
