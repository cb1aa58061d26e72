import { type Queue, rawJson } from '../../../client/index.ts'
import type { Check } from '../check.ts'
import { same } from '../claims.ts'
import { numbers } from '../items.ts'
import type { Stage } from '../stage.ts'

export const text: Check = {
  name: 'text',
  promise: 'An item’s text comes back byte for byte',
  steps: {
    'Numbers keep their spelling': unchanged(
      '1.0',
      '1e400',
      '-0',
      '1E+2',
      '0.1000',
      '12345678901234567890123',
      '[1.10,-0.0]',
    ),
    'Keys keep their order, and their doubles': unchanged(
      '{"b":1,"a":2,"b":3}',
      '{"":{},"items":[{"items":[]}]}',
      '{"__proto__":1,"constructor":null}',
    ),
    'White space stays between the tokens': unchanged(
      '{ "a" :\t1 ,\n "b" : [ ] }',
      '[ 1 ,\r\n 2 ]',
    ),
    'Unicode stays as it was written, raw or escaped': unchanged(
      '"Füße 漢字 🦄 \u2028"',
      '"\\u00fc \\ud83e\\udd84 \\ud800"',
      '"\\u0000 \\/ \\" ]},["',
    ),
    'Any JSON value is an item': unchanged('null', 'true', '""', '[]', '{}', '[[[[[]]]]]'),
    'An item may have 256 KiB': unchanged(`"${'0123456789abcdef'.repeat(16_383)}"`),
  },
}

/** A browse and a pop give the same text back, pushed alone or in bulk. */
function unchanged(...texts: readonly string[]): (stage: Stage) => Promise<void> {
  return async ({ queue }) => {
    const it = queue()
    await it.push(rawJson(texts[0] ?? ''))
    if (texts.length > 1) await it.pushMany(texts.slice(1).map((one) => ({ item: rawJson(one) })))
    same('the texts of a browse', await browsed(it), texts)
    for (const at of numbers(texts.length)) {
      const { items } = await it.pop()
      same('the text of a pop', items[0]?.text, texts[at])
    }
  }
}

const browsed = async (queue: Queue): Promise<string[]> =>
  (await queue.peek({ limit: 100 })).items.map((item) => item.text)
