import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { type Case, conformance } from './conformance.ts'
import { outcomeOf, type Place } from './place.ts'

/** Many requests at once: each takes effect whole, one after another. */

interface ContentionCase extends Case {
  readonly check: (place: Place) => Promise<void>
}

const writers = Array.from({ length: 16 }, (_, i) => i)

const cases: readonly ContentionCase[] = [
  {
    says: 'Of many conditional puts of one item exactly one succeeds.',
    async check(place) {
      const outcomes = await Promise.all(
        writers.map((n) =>
          outcomeOf(place.put({ n }, { ConditionExpression: 'attribute_not_exists(pk)' })),
        ),
      )
      expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1)
      const others = outcomes.filter((outcome) => outcome !== 'ok')
      expect(new Set(others)).toEqual(new Set(['ConditionalCheckFailedException']))
      expect(await place.attributes()).toEqual({ n: outcomes.indexOf('ok') })
    },
  },
  {
    says: 'No addition is lost.',
    async check(place) {
      await Promise.all(
        writers.map(() =>
          place.update({
            UpdateExpression: 'ADD n :one',
            ExpressionAttributeValues: { ':one': 1 },
          }),
        ),
      )
      expect(await place.attributes()).toEqual({ n: writers.length })
    },
  },
  {
    says: 'No append is lost, and each sees its own place.',
    async check(place) {
      await place.put({ l: [] })
      const answers = await Promise.all(
        writers.map((n) =>
          place.update({
            UpdateExpression: 'SET l = list_append(l, :more)',
            ExpressionAttributeValues: { ':more': [n] },
            ReturnValues: 'ALL_NEW',
          }),
        ),
      )
      const { l } = (await place.attributes()) as { l: number[] }
      expect([...l].sort((a, b) => a - b)).toEqual(writers)
      answers.forEach(({ Attributes }, n) => {
        const seen = Attributes?.l as number[]
        expect(seen.at(-1)).toBe(n)
        expect(l.slice(0, seen.length)).toEqual(seen)
      })
    },
  },
  {
    says: 'Of many writes on the condition of one version exactly one succeeds.',
    async check(place) {
      await place.put({ v: 1 })
      const outcomes = await Promise.all(
        writers.map((n) =>
          outcomeOf(
            place.update({
              UpdateExpression: 'SET v = :next, winner = :n',
              ConditionExpression: 'v = :seen',
              ExpressionAttributeValues: { ':next': 2, ':seen': 1, ':n': n },
            }),
          ),
        ),
      )
      expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1)
      expect(await place.attributes()).toEqual({ v: 2, winner: outcomes.indexOf('ok') })
    },
  },
  {
    says: 'A cap in a condition is never passed.',
    async check(place) {
      await place.put({ l: [] })
      await Promise.all(
        writers.map((n) =>
          outcomeOf(
            place.update({
              UpdateExpression: 'SET l = list_append(l, :more)',
              ConditionExpression: 'size(l) < :cap',
              ExpressionAttributeValues: { ':more': [n], ':cap': 5 },
            }),
          ),
        ),
      )
      const { l } = (await place.attributes()) as { l: number[] }
      expect(l).toHaveLength(5)
    },
  },
  {
    says: 'Transactions take effect whole or not at all.',
    async check(place) {
      const outcomes = await Promise.all(
        writers.map(() =>
          outcomeOf(
            place.dynamodb.send(
              new TransactWriteCommand({
                TransactItems: ['a', 'b'].map((sk) => ({
                  Update: {
                    TableName: place.table,
                    Key: place.key(sk),
                    UpdateExpression: 'ADD n :one',
                    ExpressionAttributeValues: { ':one': 1 },
                  },
                })),
              }),
            ),
          ),
        ),
      )
      // On AWS some meet each other and are cancelled as TransactionConflict.
      const done = outcomes.filter((outcome) => outcome === 'ok').length
      const others = outcomes.filter((outcome) => outcome !== 'ok')
      expect(others.every((outcome) => outcome === 'TransactionCanceledException')).toBe(true)
      expect(await place.attributes('a')).toEqual({ n: done })
      expect(await place.attributes('b')).toEqual({ n: done })
    },
  },
]

conformance('contention', cases, (place, one) => one.check(place), [
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
