import { isDeadLetterQueue } from '../../../foundation/queue-id.ts'
import type { Configuration } from '../../core/configuration.ts'
import { defaultConfiguration } from '../../core/configuration.ts'
import { queuePatternsKey } from '../../core/keys.ts'
import { configurationBy } from '../../core/queue-patterns.ts'
import { decodeQueuePatterns, type QueuePatternsRow } from '../../store/queue-patterns-row.ts'
import type { Engine } from './engine.ts'

export const readQueuePatterns = async (
  engine: Pick<Engine, 'dynamo'>,
): Promise<QueuePatternsRow> => decodeQueuePatterns(await engine.dynamo.get(queuePatternsKey, true))

/**
 * The settings that a queue's first record is made with. This is the one place at which patterns are read for
 * a push, and a process reads them twice a minute at most: a queue that is there has its settings in its
 * record.
 */
export async function firstConfiguration(engine: Engine, queue: string): Promise<Configuration> {
  if (isDeadLetterQueue(queue)) return defaultConfiguration
  return configurationBy((await engine.patterns.get()).value, queue)
}

/** The same as it is now, for somebody who asks. */
export async function configurationByNow(engine: Engine, queue: string): Promise<Configuration> {
  if (isDeadLetterQueue(queue)) return defaultConfiguration
  return configurationBy((await engine.patterns.get(engine.clock.nowMs())).value, queue)
}
