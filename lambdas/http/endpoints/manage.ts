import { type ConfigurationChange, tagOf } from '../../engine/core/configuration.ts'
import type { Queues } from '../../engine/queues.ts'
import { present } from '../../foundation/shared/present.ts'
import { camelCased, snakeCased } from '../../foundation/shared/wire-names.ts'
import { ok } from '../answer.ts'
import { endpoint } from '../endpoint.ts'
import { revisionFor, tagFor } from '../if-match.ts'
import { msOf } from '../ms-of.ts'
import {
  cancelCall,
  configureCall,
  configureQueuePatternsCall,
  moveCall,
  purgeCall,
  redriveCall,
  unconfigureCall,
} from '../schemas/manage.ts'
import { changeScheduleEndpoints } from './change-schedules.ts'
import { configurationAnswer, queuePatternsAnswer } from './configuration.ts'

export const manageEndpoints = (queues: Queues) => ({
  configure: endpoint(configureCall, async ({ queue, body, header }) => {
    const { source: _, ...settings } = body
    const change = camelCased(settings) as ConfigurationChange
    const ifMatch = await tagFor(header('if-match'), () => tagOfQueue(queues, queue))
    return configurationAnswer(await queues.configure(queue, change, present({ ifMatch })))
  }),

  unconfigure: endpoint(unconfigureCall, async ({ queue, header }) => {
    const ifMatch = await tagFor(header('if-match'), () => tagOfQueue(queues, queue))
    return configurationAnswer(await queues.unconfigure(queue, present({ ifMatch })))
  }),

  configureQueuePatterns: endpoint(configureQueuePatternsCall, async ({ body, header }) => {
    const ifMatch = await revisionFor(header('if-match'), async () => {
      return (await queues.patterns()).revision
    })
    const patterns = body.patterns.map(({ prefix, ...settings }) => ({
      prefix,
      settings: camelCased(settings) as ConfigurationChange,
    }))
    return queuePatternsAnswer(await queues.configurePatterns(patterns, present({ ifMatch })))
  }),

  cancel: endpoint(cancelCall, async ({ queue, body }) =>
    ok({ results: await queues.cancel(queue, body.ids) }),
  ),

  move: endpoint(moveCall, async ({ queue, body }) => {
    const { deliver_at, ...where } = body
    const request = present({ ...where, deliverAtMs: msOf(deliver_at) })
    const results = await queues.move(queue, request)
    return ok({ results: results.map(snakeCased) })
  }),
  ...changeScheduleEndpoints(queues),

  purge: endpoint(purgeCall, async ({ queue, body }) => {
    const { itemsPurged } = await queues.purge(queue, present(body))
    return ok({ success: true, items_purged: itemsPurged })
  }),

  redrive: endpoint(redriveCall, async ({ queue, body }) => {
    const { itemsRedriven, itemsLeft } = await queues.redrive(queue, present(body))
    return ok({ success: true, items_redriven: itemsRedriven, items_left: itemsLeft })
  }),
})

const tagOfQueue = async (queues: Queues, queue: string): Promise<string> =>
  tagOf(await queues.configuration(queue))
