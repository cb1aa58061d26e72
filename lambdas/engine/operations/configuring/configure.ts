import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId, isDeadLetterQueue } from '../../../foundation/queue-id.ts'
import { randomText } from '../../../foundation/random-text.ts'
import {
  type Configuration,
  type ConfigurationChange,
  changeConfiguration,
  defaultConfiguration,
  roomOf,
} from '../../core/configuration.ts'
import { EPOCH_CHARACTERS } from '../../core/record.ts'
import { newRecord } from '../../store/append-update.ts'
import { attempts } from '../attempts/attempts.ts'
import { act, done, type Outcome, refuse } from '../attempts/decision.ts'
import { changeOf, type Engine, newMark, readRecord } from '../attempts/engine.ts'
import { putFirst } from '../attempts/first-record.ts'

const ATTEMPTS_MAX = 24
const LOOKS_FROM = 4

export async function configuration(engine: Engine, queue: string): Promise<Configuration> {
  checkQueueId(queue)
  return (await readRecord(engine, queue))?.configuration ?? defaultConfiguration
}

export async function configure(
  engine: Engine,
  queue: string,
  change: ConfigurationChange,
  { ifMatch }: { readonly ifMatch?: number | undefined } = {},
): Promise<Configuration> {
  checkQueueId(queue)
  if (isDeadLetterQueue(queue) && typeof change.maxDeliveries === 'number') {
    throw new QueueError(
      'INVALID_PARAMETER',
      'max_deliveries cannot be set on a dead-letter queue: its items have nowhere further to go',
      { field: 'max_deliveries' },
    )
  }
  const course = { from: 'store', attemptsMax: ATTEMPTS_MAX, looksFrom: LOOKS_FROM } as const
  return attempts<Configuration>(engine, queue, course, ({ record, nowMs }) => {
    const before = record?.configuration ?? defaultConfiguration
    if (ifMatch !== undefined && ifMatch !== before.revision) {
      return refuse(mismatch(queue, before.revision, ifMatch))
    }
    const after = changeConfiguration(before, change)
    if (record === undefined) {
      return act(() => makeConfigured(engine, queue, after))
    }
    const room = record.room + roomOf(after) - roomOf(before)
    const draft = { ...record, configuration: after, room }
    return {
      kind: 'write',
      change: changeOf(engine, record, draft, { nowMs }),
      landed: () => done(after),
    }
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
