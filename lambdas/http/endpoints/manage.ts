import type { ConfigurationChange } from '../../engine/core/configuration.ts'
import type { Queues } from '../../engine/queues.ts'
import { present } from '../../foundation/shared/present.ts'
import { camelCased } from '../../foundation/shared/wire-names.ts'
import { ok } from '../answer.ts'
import { endpoint } from '../endpoint.ts'
import { revisionFor } from '../if-match.ts'
import { configureCall, purgeCall, redriveCall } from '../schemas/manage.ts'
import { configurationAnswer } from './configuration.ts'

export const manageEndpoints = (queues: Queues) => ({
  configure: endpoint(configureCall, async ({ queue, body, header }) => {
    const change = camelCased(body) as ConfigurationChange
    const ifMatch = await revisionFor(header('if-match'), async () => {
      return (await queues.configuration(queue)).revision
    })
    return configurationAnswer(await queues.configure(queue, change, present({ ifMatch })))
  }),

  purge: endpoint(purgeCall, async ({ queue, body }) => {
    const { itemsPurged } = await queues.purge(queue, present(body))
    return ok({ success: true, items_purged: itemsPurged })
  }),

  redrive: endpoint(redriveCall, async ({ queue, body }) => {
    const { itemsRedriven, itemsLeft } = await queues.redrive(queue, present(body))
    return ok({ success: true, items_redriven: itemsRedriven, items_left: itemsLeft })
  }),
})
