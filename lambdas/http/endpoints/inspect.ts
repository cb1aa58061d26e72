import * as v from 'valibot'
import { ITEMS_PER_POP_MAX } from '../../engine/core/limits.ts'
import type { BrowsePage, Queues, ScheduledItem } from '../../engine/queues.ts'
import { present } from '../../foundation/shared/present.ts'
import { ok, secondsText } from '../answer.ts'
import { endpoint } from '../endpoint.ts'
import { detailFields, itemTexts } from '../item-fields.ts'
import { msOf } from '../ms-of.ts'
import type { Call } from '../schemas/call.ts'
import { cursor, object, optional, pageLimit, wholeEpochSeconds } from '../schemas/fields.ts'
import {
  browseCall,
  configurationCall,
  inspectCall,
  listCall,
  queuePatternsCall,
} from '../schemas/inspect.ts'
import { stateBody, summaryBody } from '../state-body.ts'
import { configurationAnswer, configurationBody, queuePatternsAnswer } from './configuration.ts'
import { scheduleEndpoints } from './schedules.ts'

type BrowsedItem = BrowsePage['items'][number]

const stateFields = ({ state, retryAtMs }: BrowsedItem): string =>
  `"state":"${state}"${retryAtMs === undefined ? '' : `,"retry_at":${secondsText(retryAtMs)}`}`

function scheduledFields({ id, priority, pushedAtMs, dueMs }: ScheduledItem): string {
  const [pushedAt, dueAt] = [secondsText(pushedAtMs), secondsText(dueMs)]
  return `{"id":"${id}","priority":${priority},"pushed_at":${pushedAt},"due_at":${dueAt}}`
}

export const inspectEndpoints = (queues: Queues) => ({
  inspect: endpoint(inspectCall, async ({ queue, parameters }) => {
    const state = await queues.inspect(queue, {
      consistent: parameters.consistent ?? false,
      oldest: parameters.oldest ?? false,
    })
    const body = { ...stateBody(state), configuration: configurationBody(state.configuration) }
    return ok(body, { etag: state.etag })
  }),

  browse: endpoint(browseCall, async ({ queue, parameters }) => {
    const page = await queues.browse(queue, present(parameters))
    const details = page.items.map((item) => `{${detailFields(item)},${stateFields(item)}}`)
    const next = page.cursor === undefined ? '' : `,"cursor":${JSON.stringify(page.cursor)}`
    const { items } = page
    return ok(
      `{"items":${itemTexts(items)},"count":${items.length},"details":[${details.join(',')}]${next}}`,
    )
  }),

  scheduled: endpoint(scheduledCall, async ({ queue, parameters }) => {
    const { from, to, ...request } = parameters
    const times = { fromMs: msOf(from), toMs: msOf(to) }
    const { items, cursor } = await queues.scheduled(queue, present({ ...request, ...times }))
    const details = items.map(scheduledFields).join(',')
    const next = cursor === undefined ? '' : `,"cursor":${JSON.stringify(cursor)}`
    const texts = items.map(({ text }) => text).join(',')
    return ok(`{"items":[${texts}],"count":${items.length},"details":[${details}]${next}}`)
  }),

  configuration: endpoint(configurationCall, async ({ queue }) =>
    configurationAnswer(await queues.configuration(queue)),
  ),

  ...scheduleEndpoints(queues),

  queuePatterns: endpoint(queuePatternsCall, async () =>
    queuePatternsAnswer(await queues.patterns()),
  ),

  list: endpoint(listCall, async ({ parameters }) => {
    const { ids, ...request } = parameters
    const page = await queues.list({ ...request, ids: ids?.split(',') })
    return ok({
      queues: page.queues.map(summaryBody),
      cursor: page.cursor,
    })
  }),
})

export const scheduledCall = {
  parameters: object({
    limit: v.optional(pageLimit(ITEMS_PER_POP_MAX)),
    cursor: v.optional(cursor()),
    from: optional(
      wholeEpochSeconds(),
      'Only items that are due from this time on: epoch seconds.',
    ),
    to: optional(wholeEpochSeconds(), 'Only items that are due up to this time: epoch seconds.'),
  }),
} as const satisfies Call

export const schedulesCall = {} as const satisfies Call

export const scheduleCall = {} as const satisfies Call
