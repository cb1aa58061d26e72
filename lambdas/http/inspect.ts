// The calls that look and change nothing: a queue's state, items, settings and schedules, and the list of queues.

import * as v from 'valibot'
import { ITEMS_PER_POP_MAX, QUEUES_PER_PAGE_MAX } from '../../engine/core/limits.ts'
import type { Queues } from '../../engine/queues.ts'
import { msOf, present } from '../../shared/wire.ts'
import { detailsText, itemTexts, ok } from './answer.ts'
import {
  configurationAnswer,
  configurationBody,
  queuePatternsAnswer,
  scheduleAnswer,
  scheduleBody,
} from './bodies.ts'
import { type Call, endpoint } from './endpoint.ts'
import { type Pages, queueErrors, storeErrors } from './page.ts'
import * as answers from './schemas/answers.ts'
import {
  cursor,
  flag,
  itemId,
  object,
  optional,
  pageLimit,
  priority,
  QUEUE_ID_CHARACTERS_MAX,
  text,
  wholeEpochSeconds,
} from './schemas/fields.ts'
import * as moreAnswers from './schemas/more-answers.ts'
import { stateBody, summaryBody } from './state-body.ts'

export const inspectCall = {
  parameters: object({
    consistent: optional(
      flag(),
      'Sees every write that was answered, for twice the price. Default false.',
    ),
    oldest: optional(
      flag(),
      'Also returns when the oldest item was pushed, even if that takes a read of each priority. Default false.',
    ),
  }),
} as const satisfies Call

export const browseCall = {
  parameters: object({
    priority: optional(priority(), 'Only this priority. Default: all, in order.'),
    limit: v.optional(pageLimit(ITEMS_PER_POP_MAX)),
    from: optional(
      itemId(),
      'The id of an item: the first page begins with it, or at its former place. Default: the front, or the end.',
    ),
    order: optional(
      v.picklist(['oldest', 'newest'], 'must be oldest or newest'),
      '`newest` begins at the end and goes backwards. Default `oldest`.',
    ),
    cursor: v.optional(cursor()),
  }),
} as const satisfies Call

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

export const configurationCall = {} as const satisfies Call

export const queuePatternsCall = {} as const satisfies Call

export const listCall = {
  parameters: object({
    prefix: optional(text(0, QUEUE_ID_CHARACTERS_MAX), 'Only ids with this prefix.'),
    ids: optional(
      text(1, QUEUES_PER_PAGE_MAX * (QUEUE_ID_CHARACTERS_MAX + 1)),
      'Up to 100 ids, separated by commas: only these queues, in this order, instead of pages.',
    ),
    detail: optional(
      flag(),
      'Also returns how many items are locked, dead and scheduled, and each priority’s count. Default false.',
    ),
    limit: v.optional(pageLimit(QUEUES_PER_PAGE_MAX)),
    cursor: v.optional(cursor()),
  }),
} as const satisfies Call

export const schedulesCall = {} as const satisfies Call

export const scheduleCall = {} as const satisfies Call

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
    const details = page.items.map(detailsText)
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
    const details = items.map(detailsText).join(',')
    const next = cursor === undefined ? '' : `,"cursor":${JSON.stringify(cursor)}`
    const texts = items.map(({ text }) => text).join(',')
    return ok(`{"items":[${texts}],"count":${items.length},"details":[${details}]${next}}`)
  }),

  configuration: endpoint(configurationCall, async ({ queue }) =>
    configurationAnswer(await queues.configuration(queue)),
  ),

  schedules: endpoint(schedulesCall, async ({ queue }) => {
    const schedules = await queues.schedules(queue)
    return ok({ schedules: schedules.map(scheduleBody) })
  }),

  schedule: endpoint(scheduleCall, async ({ queue, schedule }) =>
    scheduleAnswer(await queues.schedule(queue, schedule)),
  ),

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
export const inspectPages = (): Pages<keyof ReturnType<typeof inspectEndpoints>> => ({
  inspect: {
    tag: 'Inspection',
    summary: 'The state of a queue',
    description: 'Eventually consistent by default. Changes nothing.',
    answer: answers.queueState,
    hasEtag: true,
    errors: [...queueErrors, 'SEGMENT_UNAVAILABLE'],
  },
  browse: {
    tag: 'Inspection',
    summary: 'The next items, without taking them',
    description:
      'In pop order or, with `order=newest`, from the end backwards; a page at a time, locked ones included.',
    answer: answers.page,
    errors: [...queueErrors, 'SEGMENT_UNAVAILABLE', 'INVALID_PRIORITY'],
  },
  scheduled: {
    tag: 'Inspection',
    summary: 'Items for later, in the order of time',
    description:
      'Items that were pushed with `delay_seconds` or `deliver_at` and have not joined their queue yet.',
    answer: moreAnswers.scheduledPage,
    errors: [...queueErrors, 'SEGMENT_UNAVAILABLE'],
  },
  configuration: {
    tag: 'Inspection',
    summary: 'The configuration of a queue',
    description:
      'Its own, those of its prefix, or the default: `source` says which. The `ETag` is the revision of ' +
      'its own, `"0"` if it never had any; with settings of a prefix, that of the patterns follows: `"0.7"`.',
    answer: answers.configuration,
    hasEtag: true,
    errors: queueErrors,
  },
  schedules: {
    tag: 'Inspection',
    summary: 'The schedules of a queue',
    description: 'All of them, by name, without their items: `GET` of one shows its item.',
    answer: moreAnswers.schedules,
    errors: queueErrors,
  },
  schedule: {
    tag: 'Inspection',
    summary: 'A schedule and its item',
    description: 'When it is due next, and when it was due last.',
    answer: moreAnswers.schedule,
    hasEtag: true,
    errors: [...queueErrors, 'SCHEDULE_NOT_FOUND'],
  },
  queuePatterns: {
    tag: 'Inspection',
    summary: 'The configurations of prefixes',
    description:
      'In the order in which they apply: the longest prefix first. The `ETag` is the revision of all of them.',
    answer: answers.queuePatterns,
    hasEtag: true,
    errors: storeErrors,
  },
  list: {
    tag: 'Inspection',
    summary: 'The queues, by id',
    description: 'A page at a time, with the number of their items.',
    answer: answers.queueList,
    errors: storeErrors,
  },
})
