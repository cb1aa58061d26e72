// What the schemas cannot say about each call: its descriptions, and its errors beside those that every call has.

import type * as v from 'valibot'
import type { HttpErrorCode } from '../../lambdas/http/answer.ts'
import type { Call } from '../../lambdas/http/endpoint.ts'
import {
  browseCall,
  configurationCall,
  inspectCall,
  listCall,
  queuePatternsCall,
  scheduleCall,
  scheduledCall,
  schedulesCall,
} from '../../lambdas/http/inspect.ts'
import {
  cancelCall,
  configureCall,
  configureQueuePatternsCall,
  deleteScheduleCall,
  moveCall,
  purgeCall,
  putScheduleCall,
  redriveCall,
  scheduleActionCall,
  unconfigureCall,
} from '../../lambdas/http/manage.ts'
import { popCall } from '../../lambdas/http/pop.ts'
import { pushCall } from '../../lambdas/http/push.ts'
import type { OperationId } from '../../lambdas/http/routes.ts'
import * as answers from '../../lambdas/http/schemas/answers.ts'
import * as moreAnswers from '../../lambdas/http/schemas/more-answers.ts'
import {
  acknowledgeCall,
  deadLetterCall,
  extendLockCall,
  releaseCall,
} from '../../lambdas/http/settle.ts'
import { rateOperations, store } from './rate-operations.ts'

export type Accepted = {
  readonly says: string
  readonly answer: v.GenericSchema
  /** A header that it has beside those of 200. */
  readonly header: 'Retry-After' | 'Preference-Applied'
}

export type Operation = {
  readonly tag: 'Queue' | 'Locks' | 'Inspection' | 'Management' | 'Rate limits' | 'Service'
  readonly summary: string
  readonly description: string
  readonly call: Call
  /** Absent where there is no body. */
  readonly answer?: v.GenericSchema
  /** The answer for 202, if the call has one. */
  readonly accepted?: Accepted
  readonly hasEtag?: true
  readonly hasReplays?: true
  readonly hasRateLimit?: true
  readonly errors: readonly HttpErrorCode[]
}

/** Whatever a call is about, its parameters, its body and its store can be wrong. */
export const commonErrors = [
  'INVALID_PARAMETER',
  'UNKNOWN_FIELD',
  'INVALID_JSON',
  'BODY_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RATE_LIMITED',
  'INTERNAL',
] as const satisfies readonly HttpErrorCode[]

const queue = ['INVALID_QUEUE_ID', 'BUSY', ...store] as const
const segments = ['SEGMENT_UNAVAILABLE'] as const
const lock = ['INVALID_LOCK_ID', 'LOCK_NOT_FOUND', 'LOCK_EXPIRED'] as const

export const operations: Readonly<Record<OperationId, Operation>> = {
  push: {
    tag: 'Queue',
    summary: 'Push one item or up to 1,000',
    description:
      'A queue appears with its first push. Several items are pushed all or none. With an ' +
      '`Idempotency-Key` a repeated push has one effect and gets its first answer again. ' +
      'With `Prefer: respond-async` the service may answer 202 once the push is in its inbox, which ' +
      'applies it in order and once (docs/inbox.md); a service without an inbox pushes at once. ' +
      'In the inbox, a key that came before with other items gets no 422: these items go to the dead letters.',
    call: pushCall,
    answer: answers.pushed,
    accepted: {
      says: 'The inbox has it, and applies it in a moment',
      answer: answers.accepted,
      header: 'Preference-Applied',
    },
    hasReplays: true,
    errors: [
      ...queue,
      ...segments,
      'INVALID_ITEM',
      'INVALID_PRIORITY',
      'ITEM_TOO_LARGE',
      'IDEMPOTENCY_CONFLICT',
      'QUEUE_FULL',
      'TOO_MANY_PRIORITIES',
    ],
  },
  pop: {
    tag: 'Queue',
    summary: 'Pop the next items',
    description:
      'Priority 0 first, then 1, and so on; first in, first out within one. Without `require_ack` ' +
      'the items are gone; with it they are locked until acknowledged, and come back to the front ' +
      'if that does not happen in time. While a lock is live a pop answers 423, unless competing ' +
      'consumers are allowed. Parameters may also be sent as headers: `Require-Ack: true`.',
    call: popCall,
    answer: answers.popped,
    errors: [
      ...queue,
      ...segments,
      ...lock,
      'INVALID_COUNT',
      'INVALID_TTL',
      'QUEUE_LOCKED',
      'TOO_MANY_LOCKS',
    ],
  },
  acknowledge: {
    tag: 'Locks',
    summary: 'Acknowledge a lock, some of it, or many locks',
    description:
      'Settles the items for good. If you repeat it after a lost answer, it gets that answer again. ' +
      'With `lock_ids` each lock has its own result, and the status is 200 whatever they are. ' +
      'A JSON body under curl’s default `Content-Type: application/x-www-form-urlencoded` is taken ' +
      'here as well.',
    call: acknowledgeCall,
    answer: answers.acknowledged,
    errors: [...queue, ...lock],
  },
  extendLock: {
    tag: 'Locks',
    summary: 'Give a lock more time',
    description: 'Its expiry becomes now + `ttl_seconds`: sooner or later than it was.',
    call: extendLockCall,
    answer: answers.extended,
    errors: [...queue, ...lock, 'INVALID_TTL'],
  },
  release: {
    tag: 'Locks',
    summary: 'Give items back, at once or later',
    description:
      'To the front, in their order, at their priority, with `deliveries` one higher. With `delay_seconds` ' +
      'they come back then: until that time no pop returns them, and `GET …/items` shows them as `waiting` ' +
      'with `retry_at`. In an exclusive queue the others wait behind them (423, with `lock_expires_at`), ' +
      'unless `overtake` is true; competing consumers never wait. An item that has been delivered as often ' +
      'as `max_deliveries` allows does not wait: it goes to the dead-letter queue at once.',
    call: releaseCall,
    answer: answers.released,
    errors: [...queue, ...lock],
  },
  deadLetter: {
    tag: 'Locks',
    summary: 'Move items to the dead-letter queue',
    description: 'To `{id}-deadletter`, priority kept.',
    call: deadLetterCall,
    answer: answers.deadLettered,
    errors: [...queue, ...lock, ...segments],
  },
  inspect: {
    tag: 'Inspection',
    summary: 'The state of a queue',
    description: 'Eventually consistent by default. Changes nothing.',
    call: inspectCall,
    answer: answers.queueState,
    hasEtag: true,
    errors: [...queue, ...segments],
  },
  browse: {
    tag: 'Inspection',
    summary: 'The next items, without taking them',
    description:
      'In pop order or, with `order=newest`, from the end backwards; a page at a time, locked ones included.',
    call: browseCall,
    answer: answers.page,
    errors: [...queue, ...segments, 'INVALID_PRIORITY'],
  },
  scheduled: {
    tag: 'Inspection',
    summary: 'Items for later, in the order of time',
    description:
      'Items that were pushed with `delay_seconds` or `deliver_at` and have not joined their queue yet.',
    call: scheduledCall,
    answer: moreAnswers.scheduledPage,
    errors: [...queue, ...segments],
  },
  configuration: {
    tag: 'Inspection',
    summary: 'The configuration of a queue',
    description:
      'Its own, those of its prefix, or the default: `source` says which. The `ETag` is the revision of ' +
      'its own, `"0"` if it never had any; with settings of a prefix, that of the patterns follows: `"0.7"`.',
    call: configurationCall,
    answer: answers.configuration,
    hasEtag: true,
    errors: queue,
  },
  configure: {
    tag: 'Management',
    summary: 'Change the configuration of a queue',
    description:
      'A setting that you leave out stays; `null` removes it. The first own settings begin with the defaults.',
    call: configureCall,
    answer: answers.configuration,
    hasEtag: true,
    errors: [...queue, 'VERSION_MISMATCH'],
  },
  unconfigure: {
    tag: 'Management',
    summary: 'Remove a queue’s own configuration',
    description: 'That of its prefix, or the default, applies again; the answer shows it.',
    call: unconfigureCall,
    answer: answers.configuration,
    hasEtag: true,
    errors: [...queue, 'VERSION_MISMATCH'],
  },
  queuePatterns: {
    tag: 'Inspection',
    summary: 'The configurations of prefixes',
    description:
      'In the order in which they apply: the longest prefix first. The `ETag` is the revision of all of them.',
    call: queuePatternsCall,
    answer: answers.queuePatterns,
    hasEtag: true,
    errors: store,
  },
  configureQueuePatterns: {
    tag: 'Management',
    summary: 'Replace the configurations of prefixes',
    description:
      'All at once. New queues have them within half a minute, and existing ones within some minutes.',
    call: configureQueuePatternsCall,
    answer: answers.queuePatterns,
    hasEtag: true,
    errors: [...store, 'BUSY', 'VERSION_MISMATCH'],
  },
  cancel: {
    tag: 'Management',
    summary: 'Take back up to 100 items that wait or are scheduled',
    description:
      'By their ids, with a result for each; nothing is searched for. Items that a pop has locked stay; ' +
      'a repetition after a lost answer says `gone`, which is true (docs/time.md).',
    call: cancelCall,
    answer: answers.cancelled,
    errors: [...queue, 'TOO_MANY_LOCKS'],
  },
  move: {
    tag: 'Management',
    summary: 'Move up to 100 items that wait or are scheduled to another priority, queue or time',
    description:
      'To its end, in the order they have in the queue, each in one place at any time. They keep `pushed_at`, ' +
      'and get new ids. In another queue they count towards its capacity. With `deliver_at` ahead they are ' +
      'scheduled until then (docs/time.md).',
    call: moveCall,
    answer: answers.moved,
    errors: [
      ...queue,
      ...segments,
      'INVALID_PRIORITY',
      'QUEUE_FULL',
      'TOO_MANY_LOCKS',
      'TOO_MANY_PRIORITIES',
    ],
  },
  schedules: {
    tag: 'Inspection',
    summary: 'The schedules of a queue',
    description: 'All of them, by name, without their items: `GET` of one shows its item.',
    call: schedulesCall,
    answer: moreAnswers.schedules,
    errors: queue,
  },
  schedule: {
    tag: 'Inspection',
    summary: 'A schedule and its item',
    description: 'When it is due next, and when it was due last.',
    call: scheduleCall,
    answer: moreAnswers.schedule,
    hasEtag: true,
    errors: [...queue, 'SCHEDULE_NOT_FOUND'],
  },
  putSchedule: {
    tag: 'Management',
    summary: 'Make a schedule, or replace it',
    description:
      'The queue gets `item` each time that the schedule is due, each occurrence once. A PUT replaces the ' +
      'schedule whole; times that stay the same go on, and to put the same again changes nothing. ' +
      'At most 100 a queue.',
    call: putScheduleCall,
    answer: moreAnswers.schedule,
    hasEtag: true,
    errors: [
      ...queue,
      'INVALID_ITEM',
      'INVALID_PRIORITY',
      'ITEM_TOO_LARGE',
      'TOO_MANY_SCHEDULES',
      'VERSION_MISMATCH',
    ],
  },
  deleteSchedule: {
    tag: 'Management',
    summary: 'Delete a schedule',
    description:
      'The items that it has pushed stay. To delete a schedule that does not exist is no error.',
    call: deleteScheduleCall,
    answer: moreAnswers.scheduleDeleted,
    errors: [...queue, 'VERSION_MISMATCH'],
  },
  runSchedule: {
    tag: 'Management',
    summary: 'Push a schedule’s item now',
    description: 'Once, paused or not. Its times stay as they are.',
    call: scheduleActionCall,
    answer: answers.pushed,
    errors: [...queue, ...segments, 'SCHEDULE_NOT_FOUND', 'QUEUE_FULL', 'TOO_MANY_PRIORITIES'],
  },
  pauseSchedule: {
    tag: 'Management',
    summary: 'Pause a schedule',
    description: 'It pushes nothing until it is resumed.',
    call: scheduleActionCall,
    answer: moreAnswers.scheduleChanged,
    hasEtag: true,
    errors: [...queue, 'SCHEDULE_NOT_FOUND'],
  },
  resumeSchedule: {
    tag: 'Management',
    summary: 'Resume a schedule',
    description: '`missed` decides about occurrences that were due meanwhile.',
    call: scheduleActionCall,
    answer: moreAnswers.scheduleChanged,
    hasEtag: true,
    errors: [...queue, 'SCHEDULE_NOT_FOUND'],
  },
  purge: {
    tag: 'Management',
    summary: 'Remove all items, all of one priority, or those named',
    description:
      'Without `priority` and `ids` also scheduled items. Drops the locks on them. Items pushed meanwhile stay.',
    call: purgeCall,
    answer: answers.purged,
    errors: [...queue, 'INVALID_PRIORITY', 'TOO_MANY_LOCKS'],
  },
  redrive: {
    tag: 'Management',
    summary: 'Move dead-lettered items back to where they came from',
    description: 'Order and priority kept. Locked items and items pushed here by hand stay.',
    call: redriveCall,
    answer: answers.redriven,
    errors: [...queue, ...segments, 'TOO_MANY_PRIORITIES'],
  },
  list: {
    tag: 'Inspection',
    summary: 'The queues, by id',
    description: 'A page at a time, with the number of their items.',
    call: listCall,
    answer: answers.queueList,
    errors: store,
  },
  ...rateOperations,
  health: {
    tag: 'Service',
    summary: 'Whether the service is up',
    description: 'Open to everybody. Asks no store.',
    call: {},
    answer: answers.healthy,
    errors: [],
  },
  healthHead: {
    tag: 'Service',
    summary: 'Whether the service is up, without a body',
    description: 'Answers as `GET` does.',
    call: {},
    errors: [],
  },
}
