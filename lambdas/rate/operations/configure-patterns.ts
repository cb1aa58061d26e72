import { isDeepStrictEqual } from 'node:util'
import { QueueError } from '../../foundation/errors.ts'
import { checkClock } from '../core/clocks.ts'
import { patternsKey } from '../core/keys.ts'
import { type PatternInput, type Patterns, patternsFrom } from '../core/patterns.ts'
import { decodePatterns, encodePatterns } from '../store/patterns-item.ts'
import { attempts, done } from './attempts.ts'
import type { ConfigureRequest } from './configure.ts'
import { type Limiter, nowMs } from './limiter.ts'
import { outOfReach } from './take.ts'

/** Patterns change by hand, now and then. */
const ATTEMPTS_MAX = 5

export async function ratePatterns(limiter: Limiter): Promise<Patterns> {
  return (await limiter.patterns.get(nowMs(limiter))).value
}

/** Replaces all patterns at once, so that one list always applies to a key, never a mix of two. */
export async function configureRatePatterns(
  limiter: Limiter,
  inputs: readonly PatternInput[],
  { ifMatch, receivedMs }: ConfigureRequest = {},
): Promise<Patterns> {
  const patterns = patternsFrom(inputs)
  checkClock(nowMs(limiter), receivedMs)
  return attempts(
    ATTEMPTS_MAX,
    async () => {
      const before = decodePatterns(await limiter.dynamo.get(patternsKey, true))
      if (ifMatch !== undefined && ifMatch !== before.revision) {
        throw mismatch(before.revision, ifMatch)
      }
      const after: Patterns = { patterns, revision: Math.max(nowMs(limiter), before.revision + 1) }
      const written = await limiter.dynamo.put({
        Item: encodePatterns(after),
        ConditionExpression: before.revision === 0 ? 'attribute_not_exists(r)' : 'r=:seen',
        ...(before.revision > 0 && { ExpressionAttributeValues: { ':seen': before.revision } }),
      })
      limiter.patterns.forget()
      if (written.kind === 'done') return done(after)
      if (written.kind === 'unknown') {
        const current = await ratePatterns(limiter).catch((error: unknown) => {
          throw outOfReach('patterns', error)
        })
        if (isDeepStrictEqual(current, after)) return done(after)
      }
      return { kind: 'again' }
    },
    () =>
      new QueueError(
        'BUSY',
        'Cannot change the rate limits’ patterns because others do; try again',
      ),
  )
}

const mismatch = (revision: number, ifMatch: number): QueueError =>
  new QueueError(
    'VERSION_MISMATCH',
    `Cannot change the rate limits' patterns because they are at revision ${revision}, not ${ifMatch}`,
    { field: 'If-Match' },
  )
