import { isPushPopError } from '../../../client/index.ts'
import type { Call } from '../../../client/transport.ts'
import type { Check } from '../check.ts'
import { holds, Skipped } from '../claims.ts'
import type { Stage } from '../stage.ts'

export const authorisation: Check = {
  name: 'authorisation',
  promise: 'Without credentials nothing but GET /healthz answers',
  steps: {
    'The list of queues is refused': (stage) => isRefused(stage, '/queues'),
    'A queue is refused': (stage) => isRefused(stage, `/queue/${stage.queue().id}`),
    'An address that is none is refused as well': (stage) => isRefused(stage, '/nothing/here'),
    'GET /healthz is open to everybody': async ({ signs, sendUnsigned }) => {
      mustSign(signs)
      await sendUnsigned({ verb: 'health', method: 'GET', path: '/healthz' })
    },
  },
}

async function isRefused({ signs, sendUnsigned }: Stage, path: string): Promise<void> {
  mustSign(signs)
  const call: Call = { verb: 'inspect', method: 'GET', path }
  const error = await sendUnsigned(call).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (isPushPopError(error, 'UNAUTHORIZED', 'FORBIDDEN')) return
  if (error !== undefined && !isPushPopError(error, 'NOT_FOUND')) throw error
  holds(false, `GET ${path} was answered without credentials`)
}

/** A service that asks nobody cannot keep this promise, and does not give it. */
function mustSign(signs: boolean): void {
  if (!signs) throw new Skipped('these calls carry no credentials (--auth none)')
}
