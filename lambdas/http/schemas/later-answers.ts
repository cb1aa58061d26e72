import * as v from 'valibot'
import { count, items, time } from './answer-fields.ts'
import { described } from './fields.ts'

export const scheduledPage = v.strictObject({
  items: items(),
  count: count('How many items.'),
  details: described(
    v.array(
      v.strictObject({
        id: described(v.string(), 'The id that its push returned.'),
        priority: count('0 is served first.'),
        pushed_at: time('When it was pushed.'),
        due_at: time('When it joins its queue.'),
      }),
    ),
    '`details[i]` belongs to `items[i]`.',
  ),
  cursor: v.optional(described(v.string(), 'For the next page; absent on the last.')),
})
