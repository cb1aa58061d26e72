// Settings: those of one queue, and those of prefixes (patterns). A queue's own settings change with a fenced write of
// its record, so two changes never mix; without a record, the change makes the first one. A queue knows the newest
// revision of the patterns that it has seen, so settings that a process still remembers never replace newer ones. The
// patterns are one row with a revision: they change as a whole, together with the request for the walk that gives them
// to the queues that are there. After a lost answer, the row's mark and revision say whether the change is in; or that
// nobody can tell.

import { changeRow } from '../../aws/change-row.ts'
import { isDeadLetterQueue } from '../../shared/bounds.ts'
import { checkQueueId, QueueError } from '../../shared/errors.ts'
import { randomText } from '../../shared/system.ts'
import { present } from '../../shared/wire.ts'
import { patternsWalkKey, queuePatternsKey } from '../core/keys.ts'
import { EPOCH_CHARACTERS, reconfigured } from '../core/record.ts'
import {
  type Configuration,
  type ConfigurationChange,
  changeConfiguration,
  configurationBy,
  defaultConfiguration,
  givenBack,
  type QueuePattern,
  type QueuePatternInput,
  type QueuePatterns,
  queuePatternsFrom,
  tagOf,
} from '../core/settings.ts'
import { attempts } from '../driver/attempts.ts'
import { act, again, answer, done, type Outcome, refuse } from '../driver/decision.ts'
import type { Engine } from '../driver/engine.ts'
import {
  areSamePatterns,
  askForWalk,
  configurationByNow,
  decodeQueuePatterns,
  encodeQueuePatterns,
  patternsAsKnown,
  patternsByNow,
  type QueuePatternsRow,
  tellLimits,
} from '../driver/queue-settings.ts'
import { newRecord } from '../requests/append-update.ts'
import { putFirst } from '../storing/make-lanes.ts'

export type DeployedPatterns = QueuePatterns & { readonly replaced?: QueuePatterns }

/** The verbs about settings, of one queue and of prefixes. */
export interface ConfiguringVerbs {
  /** The queue's settings, or those that a push would give it now. */
  configuration(queue: string): Promise<Configuration>
  configure(
    queue: string,
    change: ConfigurationChange,
    /** The revision of its own settings, or the tag of any (`configurationTag`). */
    request?: { readonly ifMatch?: number | string | undefined },
  ): Promise<Configuration>
  /** Removes the queue's own settings, so that those of its pattern, or the defaults, apply again. */
  unconfigure(
    queue: string,
    request?: { readonly ifMatch?: number | string | undefined },
  ): Promise<Configuration>
  /** The settings of prefixes. A queue without its own settings takes those of the longest prefix that matches. */
  patterns(): Promise<QueuePatterns>
  /** Replaces them all. New queues get the new settings within 30 s, existing queues within a few minutes. */
  configurePatterns(
    patterns: readonly QueuePatternInput[],
    request?: { readonly ifMatch?: number | undefined },
  ): Promise<QueuePatterns>
  /** The same for a deployment's patterns, once for each hash. If it replaced any, `replaced` holds the old ones. */
  deployPatterns(patterns: readonly QueuePatternInput[], hash: string): Promise<DeployedPatterns>
}

/** The revision of the queue's own settings, or the tag of any settings (`tagOf`). */
type Match = { readonly ifMatch?: number | string | undefined }

const course = { from: 'store', attemptsMax: 24, looksFrom: 4 } as const

/** The queue's settings, or those that a push would give it now. */
export async function configuration(engine: Engine, queue: string): Promise<Configuration> {
  checkQueueId(queue)
  const record = await engine.records.read(queue)
  return record?.configuration ?? configurationByNow(engine, queue)
}

/** Changes the queue's own settings. The first change starts from the defaults. */
export async function configure(
  engine: Engine,
  queue: string,
  change: ConfigurationChange,
  { ifMatch }: Match = {},
): Promise<Configuration> {
  checkQueueId(queue)
  if (isDeadLetterQueue(queue)) {
    if (typeof change.maxDeliveries === 'number') throw nowhereToGo('max_deliveries')
    if (change.expired === 'dead_letter') throw nowhereToGo('expired')
  }
  let revisionNow: number | undefined
  return attempts<Configuration>(engine, queue, course, (view) => {
    const { record, nowMs } = view
    if (record === undefined) {
      return act(() => makeConfigured(engine, queue, change, ifMatch))
    }
    const before = record.configuration
    const refused = configurationMismatch(queue, before, ifMatch)
    if (refused !== undefined) return refuse(refused)
    if (revisionNow === undefined && isUntouched(before) && !isDeadLetterQueue(queue)) {
      return act(async () => {
        revisionNow = (await patternsAsKnown(engine, queue)).revision
        return again(view)
      })
    }
    const after = changeConfiguration(withRevision(before, revisionNow ?? 0), change)
    const changed = engine.records.change(record, reconfigured(record, after), { nowMs })
    return { kind: 'write', change: changed, landed: () => told(engine, queue, before, after) }
  })
}

/** Makes the queue's first record, with its own settings. */
async function makeConfigured(
  engine: Engine,
  queue: string,
  change: ConfigurationChange,
  ifMatch: Match['ifMatch'],
): Promise<Outcome<Configuration>> {
  const patterns =
    ifMatch === undefined ? await patternsAsKnown(engine, queue) : await patternsByNow(engine)
  const before = isDeadLetterQueue(queue) ? defaultConfiguration : configurationBy(patterns, queue)
  const error = configurationMismatch(queue, before, ifMatch)
  // Only this attempt's own write could land, and we do not send it.
  if (error !== undefined) return { kind: 'refused', error }
  const after = changeConfiguration(withRevision(before, patterns.revision), change)
  const born = randomText(engine.random, EPOCH_CHARACTERS)
  const nothing = { lanes: new Map(), items: 0, bytes: 0 }
  const item = newRecord(queue, born, engine.records.newMark(), new Map(), nothing, {
    configuration: after,
  })
  return putFirst(engine, queue, item, () => after)
}

/** Removes the queue's own settings, so that those of its pattern, or the defaults, apply again. */
export async function unconfigure(
  engine: Engine,
  queue: string,
  { ifMatch }: Match = {},
): Promise<Configuration> {
  checkQueueId(queue)
  let applies = await configurationByNow(engine, queue)
  let readFor = 0
  return attempts<Configuration>(engine, queue, course, (view) => {
    const { record, nowMs } = view
    const before = record?.configuration ?? applies
    // The record has seen newer patterns than these. If it got older settings under the newer revision, no walk
    // would ever correct it. We read again once for each revision: a restored table may have none this new.
    const { patternsRevision: known = 0 } = before
    if (known > Math.max(applies.patternsRevision ?? 0, readFor)) {
      readFor = known
      return act(async () => {
        // Forget them, rather than ask by time: somebody may have set the clock back since we read them.
        engine.patterns.forget()
        applies = await configurationByNow(engine, queue)
        return again(view)
      })
    }
    const refused = configurationMismatch(queue, before, ifMatch)
    if (refused !== undefined) return refuse(refused)
    if (record === undefined || before.source.from !== 'queue') return answer(before)
    const after = givenBack(before, applies)
    const change = engine.records.change(record, reconfigured(record, after), { nowMs })
    return { kind: 'write', change, landed: () => told(engine, queue, before, after) }
  })
}

async function told(
  engine: Engine,
  queue: string,
  before: Configuration,
  after: Configuration,
): Promise<Outcome<Configuration>> {
  await tellLimits(engine, queue, before, after)
  return done(after)
}

/** Neither its own settings nor patterns have ever changed this record: the queue may have had another before. */
const isUntouched = ({ revision, patternsRevision }: Configuration): boolean =>
  revision === 0 && patternsRevision === undefined

/** A limit that the queue had from patterns, before it was forgotten, must not count as newer than its own. */
const withRevision = (before: Configuration, patternsRevision: number): Configuration =>
  before.patternsRevision === undefined && patternsRevision > 0
    ? { ...before, patternsRevision }
    : before

function configurationMismatch(
  queue: string,
  before: Configuration,
  ifMatch: Match['ifMatch'],
): QueueError | undefined {
  const tag = tagOf(before)
  if (ifMatch === undefined || String(ifMatch) === tag) return undefined
  return new QueueError(
    'VERSION_MISMATCH',
    `Cannot configure queue "${queue}" because its configuration is at revision ${tag}, not ${ifMatch}`,
    { field: 'If-Match' },
  )
}

const nowhereToGo = (field: string): QueueError =>
  new QueueError(
    'INVALID_PARAMETER',
    `${field === 'expired' ? 'expired cannot be "dead_letter"' : `${field} cannot be set`} on a dead-letter queue: its items have nowhere further to go`,
    { field },
  )

export async function patterns(engine: Engine): Promise<QueuePatterns> {
  const { value } = await engine.patterns.get(engine.clock.nowMs())
  return patternsOf(value)
}

/** Replaces all patterns at once, so that one list always applies to a queue, never a mix of two. */
export async function configurePatterns(
  engine: Engine,
  inputs: readonly QueuePatternInput[],
  { ifMatch }: { readonly ifMatch?: number | undefined } = {},
): Promise<QueuePatterns> {
  const patterns = queuePatternsFrom(inputs)
  return replace(engine, (before) => {
    if (ifMatch !== undefined && ifMatch !== before.revision) {
      throw mismatch(before.revision, ifMatch)
    }
    return present({ patterns, deployed: before.deployed })
  })
}

/**
 * A deployment's patterns replace all others once, when the deployment has changed them. If somebody puts other
 * patterns after that, these hold until a deployment brings new ones.
 */
export async function deployPatterns(
  engine: Engine,
  inputs: readonly QueuePatternInput[],
  hash: string,
): Promise<DeployedPatterns> {
  const patterns = queuePatternsFrom(inputs)
  let replaced: QueuePatterns | undefined
  const after = await replace(engine, (before) => {
    // If this is not the first try, another sweeper may have replaced them.
    replaced = before.deployed === hash ? undefined : patternsOf(before)
    return replaced && { patterns, deployed: hash }
  })
  return { ...after, ...(replaced !== undefined && { replaced }) }
}

/** Patterns change by hand, now and then. */
const ATTEMPTS_MAX = 5

type Change = { readonly patterns: readonly QueuePattern[]; readonly deployed?: string }

/** `changeOf` returns `undefined` if the patterns should stay as they are. */
async function replace(
  engine: Engine,
  changeOf: (before: QueuePatternsRow) => Change | undefined,
): Promise<QueuePatterns> {
  const mark = engine.records.newMark()
  const { dynamo } = engine
  const ask = { TableName: dynamo.tableName, Key: patternsWalkKey, ...askForWalk }
  return changeRow<QueuePatternsRow, QueuePatterns>(dynamo, {
    key: queuePatternsKey,
    versions: ['r'],
    attemptsMax: ATTEMPTS_MAX,
    decode: decodeQueuePatterns,
    decide(before) {
      const change = changeOf(before)
      if (change === undefined || isAsBefore(change, before)) return { answer: patternsOf(before) }
      const answer = { patterns: change.patterns, revision: before.revision + 1 }
      return { answer, row: encodeQueuePatterns({ ...answer, ...change, mark }) }
    },
    // Both or neither: the patterns, and the request for the walk that applies them.
    beside: [{ Update: ask }],
    sent: () => engine.patterns.forget(),
    pause: (attempt) => engine.records.pause(attempt),
    inDoubt,
    busy: () =>
      new QueueError('BUSY', 'Cannot change the queues’ patterns because others do; try again'),
  })
}

/** If so, we write nothing: a caller who puts the same patterns again and again causes no walk. */
const isAsBefore = (change: Change, { revision, patterns, deployed }: QueuePatternsRow): boolean =>
  revision > 0 && change.deployed === deployed && areSamePatterns(change.patterns, patterns)

const patternsOf = ({ patterns, revision }: QueuePatterns): QueuePatterns => ({
  patterns,
  revision,
})

const inDoubt = (cause: unknown): QueueError =>
  new QueueError(
    'STORE_UNAVAILABLE',
    "Cannot tell whether the queues' patterns were changed, because the store's answer was lost",
    { outcome: 'unknown', cause },
  )

const mismatch = (revision: number, ifMatch: number): QueueError =>
  new QueueError(
    'VERSION_MISMATCH',
    `Cannot change the queues' patterns because they are at revision ${revision}, not ${ifMatch}`,
    { field: 'If-Match' },
  )
