// The table's stream through a running stack.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeWorkplace, putItem, until, type Workplace, withJournal } from './a-stack.ts'
import { type Shop, streamMapping } from './an-assembly.ts'

let workplace: Workplace
beforeEach(() => {
  workplace = makeWorkplace()
})
afterEach(() => workplace.cleanUp())

/** Writes down the keys of each batch, and fails while there is a file of that name. */
function shop(mapping: object = {}): Shop {
  const code = withJournal(
    workplace.directory,
    `export const handler = async ({ Records }) => {
      write(Records.map((record) => record.dynamodb.Keys.pk.S))
      if (exists('fail')) throw new Error('not now')
      return { batchItemFailures: [] }
    }`,
  )
  const filter = JSON.stringify({ dynamodb: { NewImage: { work: { S: [{ exists: true }] } } } })
  return {
    functions: { Work: { code } },
    resources: {
      Mapping: streamMapping('Work', {
        FilterCriteria: { Filters: [{ Pattern: filter }] },
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        ...mapping,
      }),
    },
  }
}

const work = { work: { S: 'seal' } }
const keys = () => workplace.journal().flat()

test('records that the filter lets through arrive in order, the others do not', async () => {
  const stack = await workplace.start(shop())
  for (let n = 1; n <= 30; n++) await putItem(stack, `item-${n}`, n % 3 === 0 ? work : {})
  await until(() => keys().length >= 10)
  expect(keys()).toEqual(Array.from({ length: 10 }, (_, index) => `item-${3 * (index + 1)}`))
})

test('a write that changes nothing calls nobody', async () => {
  const stack = await workplace.start(shop())
  const large = { ...work, m: { M: { a: { L: [{ N: '1' }, { S: 'x' }] }, b: { S: 'y' } } } }
  await putItem(stack, 'first', large)
  await putItem(stack, 'first', large)
  await putItem(stack, 'first', { ...large, m: { M: { b: { S: 'y' }, a: large.m.M.a } } })
  await putItem(stack, 'second', work)
  await putItem(stack, 'first', work)
  await until(() => keys().length >= 3)
  expect(keys()).toEqual(['first', 'second', 'first'])
})

test('what fails for ever is given up, and what comes after it arrives', async () => {
  const stack = await workplace.start({
    ...shop({
      MaximumRetryAttempts: 1,
      BisectBatchOnFunctionError: true,
      MaximumBatchingWindowInSeconds: 1,
    }),
    functions: {
      Work: {
        code: withJournal(
          workplace.directory,
          `export const handler = async ({ Records }) => {
            const keys = Records.map((record) => record.dynamodb.Keys.pk.S)
            if (keys.includes('bad')) throw new Error('bad')
            write(keys)
          }`,
        ),
      },
    },
  })
  for (const key of ['a', 'bad', 'b']) await putItem(stack, key, work)
  await until(() => keys().length >= 2)
  expect(keys()).toEqual(['a', 'b'])
  expect(stack.givenUp).toEqual([
    expect.objectContaining({
      mappingId: 'Mapping',
      reason: 'RetryAttemptsExhausted',
      attempts: 2,
      records: 1,
    }),
  ])
})

test('a restart goes on where the stop was', async () => {
  const first = await workplace.start(shop())
  await putItem(first, 'before', work)
  await until(() => keys().length === 1)
  await first.stop()
  const { sequenceNumber } = JSON.parse(
    readFileSync(join(workplace.directory, 'data/streams/Mapping.json'), 'utf8'),
  )
  expect(sequenceNumber).toBe('1')
  const second = await workplace.start(shop())
  await putItem(second, 'after', work)
  await until(() => keys().length >= 2)
  expect(keys()).toEqual(['before', 'after'])
})

test('a stop does not wait for a function that fails, and the batch comes again', async () => {
  const marker = join(workplace.directory, 'fail')
  writeFileSync(marker, '')
  const settings = { MaximumRetryAttempts: 0 }
  const first = await workplace.start({
    ...shop(settings),
    functions: {
      Work: {
        code: withJournal(
          workplace.directory,
          'export const handler = async () => { write([]); await new Promise(() => {}) }',
        ),
      },
    },
  })
  await putItem(first, 'item', work)
  await until(() => workplace.journal().length === 1)
  await first.stop()
  expect(first.givenUp).toEqual([])
  rmSync(marker)
  await workplace.start(shop(settings))
  await until(() => keys().length === 1)
  expect(keys()).toEqual(['item'])
})

test('two functions read one stream, each what any of its filters lets through', async () => {
  const exists = { S: [{ exists: true }] }
  const filters = (...patterns: object[]) => ({
    FilterCriteria: { Filters: patterns.map((one) => ({ Pattern: JSON.stringify(one) })) },
  })
  const telling = (name: string) =>
    withJournal(
      workplace.directory,
      `export const handler = async ({ Records }) => {
        for (const { eventName, dynamodb: { Keys, OldImage } } of Records) {
          write(['${name}', Keys.pk.S, eventName, OldImage !== undefined])
        }
        return { batchItemFailures: [] }
      }`,
    )
  const stack = await workplace.start({
    functions: { Work: { code: telling('work') }, Tell: { code: telling('tell') } },
    resources: {
      Worked: streamMapping('Work', filters({ dynamodb: { NewImage: { work: exists } } })),
      Told: streamMapping(
        'Tell',
        filters(
          { dynamodb: { OldImage: { dry: exists }, NewImage: { born: exists } } },
          { dynamodb: { NewImage: { ev: exists } } },
          { eventName: ['INSERT'], dynamodb: { NewImage: { born: exists } } },
          { eventName: ['MODIFY'], dynamodb: { NewImage: { dry: { S: [{ exists: false }] } } } },
        ),
      ),
    },
  })
  const born = { born: { S: 'b' } }
  const dry = { dry: { S: 'y' } }
  await putItem(stack, 'a', { ...born, ...dry })
  await putItem(stack, 'a', { ...born, ...dry, ...work })
  await putItem(stack, 'a', born)
  await putItem(stack, 'b', work)
  await putItem(stack, 'b', { ...dry, n: { N: '1' } })
  await putItem(stack, 'b', { ev: { S: 'y' }, ...dry })
  await putItem(stack, 'b', { ...dry, n: { N: '2' } })
  await putItem(stack, 'b', { n: { N: '3' } })
  const told = () => workplace.journal().filter((line) => (line as string[])[0] === 'tell')
  await until(() => told().length >= 5 && workplace.journal().length >= 7)
  expect(told()).toEqual([
    ['tell', 'a', 'INSERT', false],
    ['tell', 'a', 'MODIFY', true],
    ['tell', 'a', 'MODIFY', true],
    ['tell', 'b', 'MODIFY', true],
    ['tell', 'b', 'MODIFY', true],
  ])
  expect(workplace.journal().filter((line) => (line as string[])[0] === 'work')).toEqual([
    ['work', 'a', 'MODIFY', true],
    ['work', 'b', 'INSERT', false],
  ])
})
