import type { QueuePatternsAnswer } from '../../client/api-types.ts'
import { connect } from '../../client/connect.ts'
import { isOutcomeUnknown, isPushPopError } from '../../client/index.ts'
import { queuePatternRequests } from '../../client/queue-calls.ts'
import type { ConfigurationChange } from '../../engine/core/settings.ts'
import { camelCased } from '../../shared/wire.ts'
import type { Given } from '../arguments/option-table.ts'
import type { TargetOptions } from '../arguments/target-options.ts'
import type { Io } from '../command.ts'
import { interrupted, wrongUsage } from '../failure.ts'
import { httpAuth } from './http-auth.ts'
import { awsOf, type Place, placeOf } from './open-target.ts'
import type { Answer } from './rates.ts'
import { whereNobodyAnswers } from './unreachable.ts'

/** The settings of prefixes, in the API's own words, from the API or made on the table itself. */
export type QueuePatternsTarget = {
  patterns(): Promise<Answer<QueuePatternsAnswer>>
  /** Replaces them all, if they are still those of the tag. */
  configurePatterns(
    patterns: readonly unknown[],
    etag: string | undefined,
  ): Promise<Answer<QueuePatternsAnswer>>
  close(): void
}

type Asked = {
  readonly given: Given<TargetOptions>
  readonly io: Pick<Io, 'env' | 'interrupt'>
}

export async function withQueuePatterns<R>(
  { given, io }: Asked,
  work: (target: QueuePatternsTarget) => Promise<R>,
): Promise<R> {
  const place = placeOf(given, io.env)
  const target = place.kind === 'store' ? await onStore(place, given) : overHttp(place, given, io)
  try {
    return await work(target)
  } finally {
    target.close()
  }
}

function overHttp(
  place: Extract<Place, { kind: 'http' }>,
  given: Given<TargetOptions>,
  { env, interrupt }: Asked['io'],
): QueuePatternsTarget {
  const { url } = place
  const { send } = connect({ url, auth: httpAuth(place, awsOf(given), env.PUSHPOP_TOKEN) })
  const { patterns, configurePatterns } = queuePatternRequests(async (call) => {
    try {
      return await send({ ...call, signal: interrupt })
    } catch (error) {
      if (!isPushPopError(error, 'ABORTED')) throw whereNobodyAnswers(url, error)
      throw interrupted(
        isOutcomeUnknown(error) ? 'Stopped; it may have been done anyway.' : 'Stopped.',
      )
    }
  })
  return {
    patterns: () => patterns(),
    configurePatterns: (all, ifMatch) => configurePatterns(all, { ifMatch }),
    close() {},
  }
}

async function onStore(
  place: Extract<Place, { kind: 'store' }>,
  given: Given<TargetOptions>,
): Promise<QueuePatternsTarget> {
  const [{ openStoreTarget }, { queuePatternsBody }] = await Promise.all([
    import('./store-target.ts'),
    import('../../lambdas/http/bodies.ts'),
  ])
  const { patterns, configurePatterns, close } = openStoreTarget(place, awsOf(given))
  const answer = (found: Awaited<ReturnType<typeof patterns>>): Answer<QueuePatternsAnswer> => {
    const text = JSON.stringify(queuePatternsBody(found))
    return { body: JSON.parse(text) as QueuePatternsAnswer, text, etag: `"${found.revision}"` }
  }
  return {
    patterns: async () => answer(await patterns()),
    async configurePatterns(all, etag) {
      const inputs = all.map((one) => {
        const { prefix, ...settings } = objectFrom(one)
        // The called function checks its contents.
        return { prefix: prefix as string, settings: camelCased(settings) as ConfigurationChange }
      })
      const request = etag === undefined ? {} : { ifMatch: Number(etag.replaceAll('"', '')) }
      return answer(await configurePatterns(inputs, request))
    },
    close,
  }
}

function objectFrom(pattern: unknown): Readonly<Record<string, unknown>> {
  if (typeof pattern === 'object' && pattern !== null && !Array.isArray(pattern)) {
    return pattern as Record<string, unknown>
  }
  throw wrongUsage(`A pattern is an object with a prefix, not ${JSON.stringify(pattern)}`)
}
