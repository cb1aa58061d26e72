import { describe, expect, it } from 'vitest'
import { transformed } from '../../../local/events/event-language.ts'

const event = {
  id: 'e-1',
  source: 'shop',
  detail: { order: 17, note: 'a "big" one', lines: [1, 2] },
}
const paths = { order: '$.detail.order', note: '$.detail.note', detail: '$.detail', gone: '$.x.y' }

describe('An input transformer', () => {
  it.each([
    ['{"item":<detail>}', '{"item":{"order":17,"note":"a \\"big\\" one","lines":[1,2]}}'],
    ['{"item":<note>}', '{"item":"a \\"big\\" one"}'],
    ['{"item":"order <order>: <note>"}', '{"item":"order 17: a \\"big\\" one"}'],
    ['{"item":<gone>,"text":"<gone>"}', '{"item":null,"text":""}'],
    ['{"item":"a \\"<order>\\""}', '{"item":"a \\"17\\""}'],
    [
      '{"item":"<detail>"}',
      '{"item":"{\\"order\\":17,\\"note\\":\\"a \\\\\\"big\\\\\\" one\\",\\"lines\\":[1,2]}"}',
    ],
    ['<aws.events.event.json>', JSON.stringify(event)],
  ])('makes of %s what EventBridge would.', (template, wanted) => {
    expect(transformed({ paths, template }, event)).toBe(wanted)
  })
})
