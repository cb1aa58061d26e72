import type * as v from 'valibot'
import type { ConfigurationChange, LimitInput } from '../../engine/core/configuration.ts'
import type { Queues } from '../../engine/queues.ts'
import { ok } from '../answer.ts'
import { endpoint } from '../endpoint.ts'
import { revisionFor } from '../if-match.ts'
import { configureCall, purgeCall, redriveCall } from '../schemas/manage.ts'
import { configurationAnswer } from './configuration.ts'

type LimitBody = Exclude<v.InferOutput<typeof configureCall.body.schema>['push_limit'], undefined>

const limitInput = (body: LimitBody): LimitInput | null =>
  body && {
    maxRequests: body.max_requests,
    windowMillis: body.window_millis,
    algorithm: body.algorithm,
    burst: body.burst,
  }

export const manageEndpoints = (queues: Queues) => ({
  configure: endpoint(configureCall, async ({ queue, body, header }) => {
    const change: ConfigurationChange = {
      ...(body.segment_size !== undefined && { segmentSize: body.segment_size }),
      ...(body.buffer_segments !== undefined && { bufferSegments: body.buffer_segments }),
      ...(body.max_deliveries !== undefined && { maxDeliveries: body.max_deliveries }),
      ...(body.capacity !== undefined && { capacity: body.capacity }),
      ...(body.push_limit !== undefined && { pushLimit: limitInput(body.push_limit) }),
      ...(body.pop_limit !== undefined && { popLimit: limitInput(body.pop_limit) }),
    }
    const ifMatch = await revisionFor(header('if-match'), async () => {
      return (await queues.configuration(queue)).revision
    })
    return configurationAnswer(
      await queues.configure(queue, change, { ...(ifMatch !== undefined && { ifMatch }) }),
    )
  }),

  purge: endpoint(purgeCall, async ({ queue, body }) => {
    const { priority } = body
    const { itemsPurged } = await queues.purge(queue, {
      ...(priority !== undefined && { priority }),
    })
    return ok({ success: true, items_purged: itemsPurged })
  }),

  redrive: endpoint(redriveCall, async ({ queue, body }) => {
    const { limit } = body
    const { itemsRedriven, itemsLeft } = await queues.redrive(queue, {
      ...(limit !== undefined && { limit }),
    })
    return ok({ success: true, items_redriven: itemsRedriven, items_left: itemsLeft })
  }),
})
