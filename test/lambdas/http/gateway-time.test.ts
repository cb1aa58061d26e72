import { expect, it } from 'vitest'
import { popEndpoints } from '../../../lambdas/http/pop.ts'
import { pushEndpoints } from '../../../lambdas/http/push.ts'
import { httpHandler } from '../../../lambdas/http/stack.ts'
import { createLog } from '../../../lambdas/runtime/log.ts'
import { openSimulated } from '../../engine/stage.ts'
import { anEvent } from './an-event.ts'

// A queue's limits count by the process's clock, which is held against the gateway's time of the call.

const log = createLog({ level: 'info', service: 'x', write() {} })

const call = (verb: 'push' | 'pop', id: string, timeEpoch: number) =>
  anEvent(
    `POST /queue/{id}/${verb}`,
    { id },
    {
      requestContext: { requestId: 'gateway-id', timeEpoch },
      ...(verb === 'push' && { body: '{"item":1}' }),
    },
  )

it('If the queue has limits, a process whose clock is far off refuses calls.', async () => {
  const stage = openSimulated()
  const [queues, limited, free] = [stage.engine(), stage.queue(), stage.queue()]
  await queues.configure(limited, { pushLimit: { maxRequests: 5 }, popLimit: { maxRequests: 5 } })
  const handlers = {
    push: httpHandler('Push', log, pushEndpoints(queues)),
    pop: httpHandler('Pop', log, popEndpoints(queues)),
  }
  const nowMs = stage.clock.nowMs()
  for (const verb of ['push', 'pop'] as const) {
    const status = async (queue: string, timeEpoch: number) =>
      (await handlers[verb](call(verb, queue, timeEpoch), {})).statusCode
    expect(await status(limited, nowMs - 60_000)).toBe(503)
    expect(await status(limited, nowMs + 60_000)).toBe(503)
    expect(await status(limited, nowMs)).toBe(200)
    expect(await status(free, nowMs - 60_000)).toBe(200)
  }
})
