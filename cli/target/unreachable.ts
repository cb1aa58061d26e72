import { isPushPopError } from '../../client/index.ts'
import { exitCodes } from '../exit-codes.ts'
import { Failure, hasCode } from '../failure.ts'
import type { Target } from './target.ts'

/** Errors of a connection that was never made: nothing was sent, and nothing changed. */
const neverMade = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'CERT_HAS_EXPIRED']

/** The same target, which says what to do where nothing answers at its address. */
export function reachable(url: string, target: Target): Target {
  const told = (error: unknown) => whereNobodyAnswers(url, error)
  const entries = Object.entries(target).map(([name, member]) => {
    if (typeof member !== 'function' || name === 'queues' || name === 'close') return [name, member]
    const call = member as (...args: unknown[]) => Promise<unknown>
    const wrapped = (...args: unknown[]) =>
      call(...args).catch((error: unknown) => {
        throw told(error)
      })
    return [name, wrapped]
  })
  return {
    ...(Object.fromEntries(entries) as Target),
    async *queues(request) {
      try {
        yield* target.queues(request)
      } catch (error) {
        throw told(error)
      }
    },
  }
}

/** The error itself, or what to do where nothing answers. */
export const whereNobodyAnswers = (url: string, error: unknown): unknown =>
  isUnmade(error) ? nothingThere(url, error) : error

function isUnmade(error: unknown): boolean {
  if (!isPushPopError(error, 'NETWORK_ERROR')) return false
  // An earlier attempt has sent something, whatever happened to the last one.
  if (error.outcome === 'unknown' && error.attempts > 1) return false
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (neverMade.some((code) => hasCode(cause, code))) return true
    if (cause instanceof AggregateError) {
      return cause.errors.every((one) => neverMade.some((code) => hasCode(one, code)))
    }
  }
  return false
}

const START_PORT = '8000'

/** What `start` has to be told to listen there. */
function portOf(url: string): string {
  const { port } = new URL(url)
  return port === '' || port === START_PORT ? '' : ` --port ${port}`
}

const nothingThere = (url: string, cause: unknown): Failure =>
  new Failure(
    exitCodes.failed,
    `Cannot reach ${url} because nothing answers there; start it with "pushpop start${portOf(url)}", ` +
      'or name another with --endpoint or PUSHPOP_ENDPOINT',
    { code: 'NETWORK_ERROR', cause: new Error('never sent', { cause }) },
  )
