import * as v from 'valibot'
import { count } from './answer-fields.ts'
import { described } from './fields.ts'

const segment = (description: string) =>
  described(v.nullable(v.pipe(v.number(), v.integer())), description)

const places = ['record', 'rows', 'batch-rows', 'batch-s3', 's3', 'recalled'] as const

const stretch = v.strictObject({
  from: count('Its first number.'),
  to: count('The number after its last.'),
  in: described(
    v.picklist(places),
    '`record`: in the queue’s record. `rows`: in rows of the table. `batch-rows`, `batch-s3`: where the bulk push that brought it put it. `s3`: in a segment that was offloaded. `recalled`: in such a segment, and in rows again.',
  ),
})

/** One priority of a queue. */
export const laneState = v.strictObject({
  priority: count('0 is served first.'),
  count: count('Items of this priority.'),
  head_segment: count('Where the next item is.'),
  tail_segment: count('Where the last item is.'),
  head_offloaded_segment: segment(
    'The first of the longest stretch of whole segments in the middle that lies in S3, however it came there; `null` if none does.',
  ),
  tail_offloaded_segment: segment('The last of that stretch; `null` if there is none.'),
  epoch: described(v.string(), 'Random; a priority that is dropped and comes back has another.'),
  segment_size: count('Items in a segment of this priority.'),
  head: count('The lowest number not settled. Items are numbered from 0 in the order of pushes.'),
  frontier: count('The lowest number never handed out.'),
  sealed: count('From this number on, the items or references to them are in the queue’s record.'),
  end: count('The number that the next item gets.'),
  stored: described(
    v.array(stretch),
    'Where the numbers from head to end lie: 200 stretches at most, in order, neighbours joined, as far as the record knows.',
  ),
})
