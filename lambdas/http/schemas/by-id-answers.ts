// The answers of calls that name items by their ids. As with `answers.ts`, no function loads this.

import * as v from 'valibot'
import { described } from './fields.ts'

const itemResult = (results: readonly [string, ...string[]]) =>
  v.strictObject({
    id: described(v.string(), 'As it was sent.'),
    result: described(
      v.picklist(results),
      '`gone`: popped, settled, dead, moved, or never there; for a scheduled item also: it has joined its queue, where it has another id.',
    ),
  })

export const cancelled = v.strictObject({
  results: described(
    v.array(itemResult(['cancelled', 'locked', 'gone'])),
    'In the order of `ids`.',
  ),
})

export const moved = v.strictObject({
  results: described(
    v.array(
      v.union([
        v.strictObject({
          id: described(v.string(), 'As it was sent.'),
          result: v.literal('moved'),
          new_id: v.optional(
            described(
              v.string(),
              'Its id from now on; left out if a consumer took it before we could look up its new place.',
            ),
          ),
        }),
        itemResult(['locked', 'gone']),
      ]),
    ),
    'In the order of `ids`.',
  ),
})
