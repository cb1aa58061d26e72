import { expect } from 'vitest'
import { type Case, check, conformance } from './conformance.ts'
import { x } from './expression.ts'
import { outcomeOf } from './place.ts'

/** Many requests at once: each takes effect whole, one after another. */

const writers = Array.from({ length: 16 }, (_, i) => i)

const each = <T>(request: (writer: number) => Promise<T>): Promise<T[]> =>
  Promise.all(writers.map(request))

const cases: readonly Case[] = [
  check('Of many conditional puts of one item exactly one succeeds.', async (place) => {
    const ConditionExpression = 'attribute_not_exists(pk)'
    const outcomes = await each((n) => outcomeOf(place.put({ n }, { ConditionExpression })))
    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1)
    const others = outcomes.filter((outcome) => outcome !== 'ok')
    expect(new Set(others)).toEqual(new Set(['ConditionalCheckFailedException']))
    expect(await place.attributes()).toEqual({ n: outcomes.indexOf('ok') })
  }),
  check('No addition is lost.', async (place) => {
    await each(() => place.update({ UpdateExpression: x`ADD n ${1}` }))
    expect(await place.attributes()).toEqual({ n: writers.length })
  }),
  check('No append is lost, and each sees its own place.', async (place) => {
    await place.put({ l: [] })
    const answers = await each((n) =>
      place.update({
        UpdateExpression: x`SET l = list_append(l, ${[n]})`,
        ReturnValues: 'ALL_NEW',
      }),
    )
    const { l } = (await place.attributes()) as { l: number[] }
    expect([...l].sort((a, b) => a - b)).toEqual(writers)
    answers.forEach(({ Attributes }, n) => {
      const seen = Attributes?.l as number[]
      expect(seen.at(-1)).toBe(n)
      expect(l.slice(0, seen.length)).toEqual(seen)
    })
  }),
  check('Of many writes on the condition of one version exactly one succeeds.', async (place) => {
    await place.put({ v: 1 })
    const outcomes = await each((n) =>
      outcomeOf(
        place.update({
          UpdateExpression: x`SET v = ${2}, winner = ${n}`,
          ConditionExpression: x`v = ${1}`,
        }),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1)
    expect(await place.attributes()).toEqual({ v: 2, winner: outcomes.indexOf('ok') })
  }),
  check('A cap in a condition is never passed.', async (place) => {
    await place.put({ l: [] })
    await each((n) =>
      outcomeOf(
        place.update({
          UpdateExpression: x`SET l = list_append(l, ${[n]})`,
          ConditionExpression: x`size(l) < ${5}`,
        }),
      ),
    )
    const { l } = (await place.attributes()) as { l: number[] }
    expect(l).toHaveLength(5)
  }),
  check('Transactions take effect whole or not at all.', async (place) => {
    const outcomes = await each(() =>
      outcomeOf(place.transact(['a', 'b'].map((sk) => place.updateAction(sk, x`ADD n ${1}`)))),
    )
    // On AWS some meet each other and are cancelled as TransactionConflict.
    const done = outcomes.filter((outcome) => outcome === 'ok').length
    const others = outcomes.filter((outcome) => outcome !== 'ok')
    expect(others.every((outcome) => outcome === 'TransactionCanceledException')).toBe(true)
    expect(await place.attributes('a')).toEqual({ n: done })
    expect(await place.attributes('b')).toEqual({ n: done })
  }),
]

conformance('contention', cases, [
  {
    by: 'applies every second write twice',
    network: {
      async deliver(request, apply) {
        if (request.name === 'UpdateCommand') apply()
        return apply()
      },
    },
    noticedBy: 'No addition is lost.',
  },
])
