// The table of an item's fields: what follows from it forgets none of them.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkGiven, checkPush, hashedParts } from '../../../engine/core/check-requests.ts'
import type { PushItem } from '../../../engine/queues.ts'
import { itemOf, pushCall } from '../../../lambdas/http/push.ts'
import { readBody } from '../../../lambdas/http/read-request.ts'
import { validate } from '../../../lambdas/http/validate.ts'
import { inboxOn } from '../../../lambdas/inbox/send.ts'
import {
  type GivenField,
  givenFields,
  itemFields,
  keptFields,
} from '../../../shared/item-fields.ts'

/** Times of the next years, each as its field can be sent and stored. */
const nowMs = 1_790_000_000_000
function anyOf({ is, max = 0 }: GivenField): fc.Arbitrary<unknown> {
  switch (is) {
    case 'time':
      return fc.integer({ min: nowMs + 200_000_000, max: nowMs + 300_000_000 })
    case 'text':
      return fc.string({ minLength: 1, maxLength: max })
    default:
      return fc.integer({ min: 0, max: Math.min(max, 1_000) })
  }
}

/** An item with any of the fields, but not with two that say the same. */
const pushes: fc.Arbitrary<PushItem> = fc
  .record(Object.fromEntries(givenFields.map((field) => [field.name, anyOf(field)])), {
    requiredKeys: [],
  })
  .map((given) => {
    const item: Record<string, unknown> = { text: '[1.0]', ...given }
    for (const { name, not = '' } of givenFields) if (name in item) delete item[not]
    return item as PushItem
  })

describe('The table of an item’s fields', () => {
  it('has each name on the wire once, and each letter of an entry.', () => {
    const names = Object.values(itemFields).map(({ wire }) => wire)
    expect(new Set(names).size).toBe(names.length)
    const letters = keptFields.map(({ kept }) => kept)
    expect(new Set(letters).size).toBe(letters.length)
    for (const letter of letters) expect(letter).toMatch(/^[A-Za-z]$/)
  })

  it('makes messages of the inbox that say all that a push said.', async () => {
    let body = ''
    const inbox = inboxOn(
      {
        async send(message) {
          body = message.body
          return { messageId: 'm' }
        },
      },
      { clock: { nowMs: () => nowMs, sleep: async () => {} } },
    )
    await fc.assert(
      fc.asyncProperty(pushes, async (item) => {
        checkPush([item])
        await inbox.send('orders', { items: [item], idempotencyKey: 'k' }).catch((error) => {
          // It may expire before it is due.
          expect((error as Error).message).toContain('the item is due')
          fc.pre(false)
        })
        const fields = readBody(body, pushCall.body.raw)
        const read = validate(pushCall.body.or.schema, fields, 'field', pushCall).items.map(itemOf)
        expect(read).toEqual([item.priority === 0 ? { ...item, priority: undefined } : item])
      }),
    )
  })

  it('makes another push of each value that counts, and of no other.', () => {
    const change = fc
      .constantFrom(...givenFields)
      .chain((field) => anyOf(field).map((value) => ({ field, value })))
    fc.assert(
      fc.property(pushes, change, (one, { field: { name, hashed, standard }, value }) => {
        const other = { ...one, [name]: value }
        const isAlike = JSON.stringify(hashedParts(one)) === JSON.stringify(hashedParts(other))
        expect(isAlike).toBe(hashed === false || (one[name] ?? standard) === value)
      }),
    )
  })

  it('refuses a text that is none, is empty or too long, or has half a character.', () => {
    const field = { wire: 'note', is: 'text', given: { max: 3, hashed: false } } as const
    for (const text of [1, '', 'four', '\ud800']) {
      expect(() => checkGiven(field, text, 'items[2].')).toThrow(
        'items[2].note must be well-formed text of 1 to 3 characters',
      )
    }
    expect(() => checkGiven(field, 'abc', '')).not.toThrow()
  })
})
