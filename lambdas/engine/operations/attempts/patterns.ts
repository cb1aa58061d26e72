import { isDeadLetterQueue } from '../../../foundation/queue-id.ts'
import type { Configuration } from '../../core/configuration.ts'
import { defaultConfiguration } from '../../core/configuration.ts'
import { patternsWalkKey, queuePatternsKey } from '../../core/keys.ts'
import { configurationBy, noQueuePatterns, type QueuePatterns } from '../../core/queue-patterns.ts'
import { decodeQueuePatterns, type QueuePatternsRow } from '../../store/queue-patterns-row.ts'
import type { Engine } from './engine.ts'
import { askForWalk } from './pass-limit.ts'

export const readQueuePatterns = async (
  engine: Pick<Engine, 'dynamo'>,
): Promise<QueuePatternsRow> => decodeQueuePatterns(await engine.dynamo.get(queuePatternsKey, true))

/**
 * The settings for a queue's first record. Only here does a push read the patterns, and a process reads them at
 * most twice a minute: an existing queue has its settings in its record.
 */
export async function firstConfiguration(engine: Engine, queue: string): Promise<Configuration> {
  if (isDeadLetterQueue(queue)) return defaultConfiguration
  return configurationBy(await patternsAsKnown(engine, queue), queue)
}

/**
 * If one row cannot be read, that must not keep everybody from making queues. We then use the patterns that this
 * process read last, if any, and ask for a walk, which will correct the queues made meanwhile.
 */
export async function patternsAsKnown(engine: Engine, queue: string): Promise<QueuePatterns> {
  try {
    return (await engine.patterns.get()).value
  } catch (error) {
    engine.onBackgroundError(error, { queue, step: 'read-patterns' })
    // If there never were patterns, there is nothing to apply.
    const ask = { ...askForWalk, ConditionExpression: 'attribute_exists(a)' }
    await engine.dynamo.update(patternsWalkKey, ask).catch((refused: unknown) => {
      engine.onBackgroundError(refused, { queue, step: 'ask-for-patterns' })
    })
    return engine.patterns.last ?? noQueuePatterns
  }
}

/** As they are now. */
export const patternsByNow = async (engine: Engine): Promise<QueuePatterns> =>
  (await engine.patterns.get(engine.clock.nowMs())).value

/** The settings that a push would now give a queue without a record. Only answers questions. */
export async function configurationByNow(engine: Engine, queue: string): Promise<Configuration> {
  if (isDeadLetterQueue(queue)) return defaultConfiguration
  return configurationBy(await patternsByNow(engine), queue)
}
