import { QueueError } from '../../foundation/errors.ts'
import { checkQueueId, isDeadLetterQueue } from '../../foundation/queue-id.ts'
import { randomText } from '../../foundation/random-text.ts'
import {
  type Configuration,
  type ConfigurationChange,
  changeConfiguration,
  defaultConfiguration,
  roomOf,
} from '../core/configuration.ts'
import { EPOCH_CHARACTERS, type QueueRecord } from '../core/record.ts'
import { newRecord } from '../store/append-update.ts'
import {
  afterLoss,
  busy,
  changeOf,
  commit,
  type Engine,
  newMark,
  outcomeUnknown,
  readRecord,
  seen,
} from './engine.ts'

const ATTEMPTS_MAX = 24

export async function configuration(engine: Engine, queue: string): Promise<Configuration> {
  checkQueueId(queue)
  return (await readRecord(engine, queue))?.configuration ?? defaultConfiguration
}

export async function configure(
  engine: Engine,
  queue: string,
  change: ConfigurationChange,
  { ifMatch }: { readonly ifMatch?: number } = {},
): Promise<Configuration> {
  checkQueueId(queue)
  if (isDeadLetterQueue(queue) && typeof change.maxDeliveries === 'number') {
    throw new QueueError(
      'INVALID_PARAMETER',
      'max_deliveries cannot be set on a dead-letter queue: its items have nowhere further to go',
      { field: 'max_deliveries' },
    )
  }
  let record = await readRecord(engine, queue)
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const before: Configuration = record?.configuration ?? defaultConfiguration
    if (ifMatch !== undefined && ifMatch !== before.revision) {
      throw new QueueError(
        'VERSION_MISMATCH',
        `Cannot configure queue "${queue}" because its configuration is at revision ${before.revision}, not ${ifMatch}`,
        { field: 'If-Match' },
      )
    }
    const after = changeConfiguration(before, change)
    if (record === undefined) {
      const made = await makeConfigured(engine, queue, after)
      if (made.kind === 'made') return after
      record = made.current
    } else {
      const room = record.room + roomOf(after) - roomOf(before)
      const committed = await commit(
        engine,
        changeOf(
          engine,
          record,
          { ...record, configuration: after, room },
          { nowMs: engine.clock.nowMs() },
        ),
      )
      if (committed.kind === 'committed') return after
      record = committed.kind === 'lost' ? committed.current : undefined
    }
    record = await afterLoss(engine, queue, attempt, record)
  }
  throw busy(queue)
}

async function makeConfigured(
  engine: Engine,
  queue: string,
  after: Configuration,
): Promise<{ kind: 'made' } | { kind: 'there'; current: QueueRecord | undefined }> {
  const born = randomText(engine.random, EPOCH_CHARACTERS)
  const nothing = { lanes: new Map(), items: 0, bytes: 0 }
  const item = newRecord(queue, born, newMark(engine), new Map(), nothing, {
    configuration: after,
  })
  const written = await engine.dynamo.put({
    Item: item,
    ConditionExpression: 'attribute_not_exists(pk)',
  })
  if (written.kind === 'done') return { kind: 'made' }
  if (written.kind === 'failed')
    return { kind: 'there', current: seen(engine, queue, written.item) }
  const current = await readRecord(engine, queue).catch((error: unknown) => {
    throw outcomeUnknown(queue, error)
  })
  if (current?.born === born) return { kind: 'made' }
  throw outcomeUnknown(queue, written.cause)
}
