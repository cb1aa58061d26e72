import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rawJson } from '../../client/index.ts'
import { itemTexts } from '../../client/json.ts'
import { clientOf, pops, succeeds } from './scripted.ts'

describe('texts cut out of an answer', () => {
  test('are those that were put in, whatever they are', () => {
    const spaced = fc
      .tuple(fc.json(), fc.constantFrom('', ' ', '\n\t'))
      .map(([a, b]) => `${b}${a}${b}`)
    fc.assert(
      fc.property(fc.array(spaced), (texts) => {
        const body = `{"items":[${texts.join(',')}],"count":1,"details":[{"reason":"],\\"items\\":["}]}`
        JSON.parse(body)
        expect(itemTexts(body)).toEqual(texts)
      }),
      { numRuns: 2_000 },
    )
  })

  const hard = [
    '"\\\\"',
    '"\\\\\\""',
    '"]},["',
    '{"items":[1,2]}',
    '[[],[[]]]',
    '"\\u005d"',
    '1.0E+2',
  ]
  test.each(hard)('%s', (text) => {
    expect(itemTexts(`{"items":[${text},${text}],"count":2}`)).toEqual([text, text])
  })

  test('are none in an empty list', () => {
    expect(itemTexts('{"items":[],"count":0}')).toEqual([])
  })

  test('that are 16 times as long take some 16 times as long to cut, not 256 times', () => {
    const bodyOf = (characters: number) => `{"items":[${JSON.stringify('\\'.repeat(characters))}]}`
    const quickestOfTen = (body: string) => {
      const tookMs = Array.from({ length: 10 }, () => {
        const startedAtMs = performance.now()
        expect(itemTexts(body)).toHaveLength(1)
        return performance.now() - startedAtMs
      })
      return Math.min(...tookMs)
    }
    const ratio = quickestOfTen(bodyOf(128_000)) / quickestOfTen(bodyOf(8_000))
    expect(ratio).toBeLessThan(100)
  })
})

describe('an item', () => {
  test('that JavaScript would round is sent and told as it is', async () => {
    const { queue, asked } = clientOf([succeeds, pops('{"n":12345678901234567890,"x":1.10}')])
    await queue.push(rawJson('12345678901234567890'))
    expect(asked[0]?.body).toBe('{"item":12345678901234567890}')
    const { items } = await queue.pop()
    expect(items[0]?.text).toBe('{"n":12345678901234567890,"x":1.10}')
  })

  test('with a field "text" is no raw JSON', async () => {
    const { queue, asked } = clientOf([succeeds])
    await queue.pushMany([{ item: { text: '1' } }, { item: rawJson('1'), priority: 2 }])
    expect(asked[0]?.body).toBe('{"items":[{"item":{"text":"1"}},{"item":1,"priority":2}]}')
  })

  test('of raw text must be one value', () => {
    for (const text of ['1,"priority":0', '', '{', '1 2']) {
      expect(() => rawJson(text)).toThrow(expect.objectContaining({ code: 'NOT_JSON' }))
    }
  })
})
