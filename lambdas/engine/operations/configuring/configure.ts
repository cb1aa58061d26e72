import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId, isDeadLetterQueue } from '../../../foundation/queue-id.ts'
import { randomText } from '../../../foundation/random-text.ts'
import {
  type Configuration,
  type ConfigurationChange,
  changeConfiguration,
  defaultConfiguration,
  givenBack,
  tagOf,
} from '../../core/configuration.ts'
import { configurationBy } from '../../core/queue-patterns.ts'
import { EPOCH_CHARACTERS, reconfigured } from '../../core/record.ts'
import { newRecord } from '../../store/append-update.ts'
import { attempts } from '../attempts/attempts.ts'
import { act, again, answer, done, type Outcome, refuse } from '../attempts/decision.ts'
import { changeOf, type Engine, newMark, readRecord } from '../attempts/engine.ts'
import { putFirst } from '../attempts/first-record.ts'
import { tellLimits } from '../attempts/pass-limit.ts'
import { configurationByNow, patternsAsKnown, patternsByNow } from '../attempts/patterns.ts'

const course = { from: 'store', attemptsMax: 24, looksFrom: 4 } as const

/** The revision of the queue's own settings, or the tag of any settings (`tagOf`). */
type Match = { readonly ifMatch?: number | string | undefined }

/** The queue's settings, or those that a push would give it now. */
export async function configuration(engine: Engine, queue: string): Promise<Configuration> {
  checkQueueId(queue)
  const record = await readRecord(engine, queue)
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
    const refused = mismatch(queue, before, ifMatch)
    if (refused !== undefined) return refuse(refused)
    if (revisionNow === undefined && isUntouched(before) && !isDeadLetterQueue(queue)) {
      return act(async () => {
        revisionNow = (await patternsAsKnown(engine, queue)).revision
        return again(view)
      })
    }
    const after = changeConfiguration(withRevision(before, revisionNow ?? 0), change)
    const changed = changeOf(engine, record, reconfigured(record, after), { nowMs })
    return { kind: 'write', change: changed, landed: () => told(engine, queue, before, after) }
  })
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
    const refused = mismatch(queue, before, ifMatch)
    if (refused !== undefined) return refuse(refused)
    if (record === undefined || before.source.from !== 'queue') return answer(before)
    const after = givenBack(before, applies)
    const change = changeOf(engine, record, reconfigured(record, after), { nowMs })
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
  const error = mismatch(queue, before, ifMatch)
  // Only this attempt's own write could land, and we do not send it.
  if (error !== undefined) return { kind: 'refused', error }
  const after = changeConfiguration(withRevision(before, patterns.revision), change)
  const born = randomText(engine.random, EPOCH_CHARACTERS)
  const nothing = { lanes: new Map(), items: 0, bytes: 0 }
  const item = newRecord(queue, born, newMark(engine), new Map(), nothing, {
    configuration: after,
  })
  return putFirst(engine, queue, item, () => after)
}

/** Neither its own settings nor patterns have ever changed this record: the queue may have had another before. */
const isUntouched = ({ revision, patternsRevision }: Configuration): boolean =>
  revision === 0 && patternsRevision === undefined

/** A limit that the queue had from patterns, before it was forgotten, must not count as newer than its own. */
const withRevision = (before: Configuration, patternsRevision: number): Configuration =>
  before.patternsRevision === undefined && patternsRevision > 0
    ? { ...before, patternsRevision }
    : before

function mismatch(
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
