import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId, isDeadLetterQueue } from '../../../foundation/queue-id.ts'
import { randomText } from '../../../foundation/random-text.ts'
import {
  type Configuration,
  type ConfigurationChange,
  changeConfiguration,
  defaultConfiguration,
  givenBack,
} from '../../core/configuration.ts'
import { EPOCH_CHARACTERS, reconfigured } from '../../core/record.ts'
import { newRecord } from '../../store/append-update.ts'
import { attempts } from '../attempts/attempts.ts'
import { act, answer, done, type Outcome, refuse } from '../attempts/decision.ts'
import { changeOf, type Engine, newMark, readRecord } from '../attempts/engine.ts'
import { putFirst } from '../attempts/first-record.ts'
import { configurationByNow } from '../attempts/patterns.ts'

const course = { from: 'store', attemptsMax: 24, looksFrom: 4 } as const

type Match = { readonly ifMatch?: number | undefined }

/** What the queue has, or would have if it were pushed to now. */
export async function configuration(engine: Engine, queue: string): Promise<Configuration> {
  checkQueueId(queue)
  const record = await readRecord(engine, queue)
  return record?.configuration ?? configurationByNow(engine, queue)
}

/** Changes the queue's own settings; the first of them begin with the defaults. */
export async function configure(
  engine: Engine,
  queue: string,
  change: ConfigurationChange,
  { ifMatch }: Match = {},
): Promise<Configuration> {
  checkQueueId(queue)
  if (isDeadLetterQueue(queue) && typeof change.maxDeliveries === 'number') {
    throw new QueueError(
      'INVALID_PARAMETER',
      'max_deliveries cannot be set on a dead-letter queue: its items have nowhere further to go',
      { field: 'max_deliveries' },
    )
  }
  return attempts<Configuration>(engine, queue, course, ({ record, nowMs }) => {
    const before = record?.configuration ?? defaultConfiguration
    if (ifMatch !== undefined && ifMatch !== before.revision) {
      return refuse(mismatch(queue, before.revision, ifMatch))
    }
    const after = changeConfiguration(before, change)
    if (record === undefined) {
      return act(() => makeConfigured(engine, queue, after))
    }
    const changed = changeOf(engine, record, reconfigured(record, after), { nowMs })
    return { kind: 'write', change: changed, landed: () => done(after) }
  })
}

/** Takes the queue's own settings away: those of its pattern, or the default, apply again. */
export async function unconfigure(
  engine: Engine,
  queue: string,
  { ifMatch }: Match = {},
): Promise<Configuration> {
  checkQueueId(queue)
  const applies = await configurationByNow(engine, queue)
  return attempts<Configuration>(engine, queue, course, ({ record, nowMs }) => {
    const before = record?.configuration ?? applies
    if (ifMatch !== undefined && ifMatch !== before.revision) {
      return refuse(mismatch(queue, before.revision, ifMatch))
    }
    if (record === undefined || before.source.from !== 'queue') return answer(before)
    const after = givenBack(before, applies)
    const change = changeOf(engine, record, reconfigured(record, after), { nowMs })
    return { kind: 'write', change, landed: () => done(after) }
  })
}

function makeConfigured(
  engine: Engine,
  queue: string,
  after: Configuration,
): Promise<Outcome<Configuration>> {
  const born = randomText(engine.random, EPOCH_CHARACTERS)
  const nothing = { lanes: new Map(), items: 0, bytes: 0 }
  const item = newRecord(queue, born, newMark(engine), new Map(), nothing, {
    configuration: after,
  })
  return putFirst(engine, queue, item, () => after)
}

const mismatch = (queue: string, revision: number, ifMatch: number): QueueError =>
  new QueueError(
    'VERSION_MISMATCH',
    `Cannot configure queue "${queue}" because its configuration is at revision ${revision}, not ${ifMatch}`,
    { field: 'If-Match' },
  )
