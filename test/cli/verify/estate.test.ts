// How the queues of a run are left, against a service that is a list of calls.

import { expect, test } from 'vitest'
import { type Estate, makeEstate } from '../../../cli/verify/estate.ts'
import type { Client, Configuration, ConfigurationChange, Queue } from '../../../client/index.ts'

const defaults: Configuration = { segmentSize: 100, bufferSegments: 1 }

/** `deadCounts`: what each look at a queue says is on its way to its dead-letter queue. */
function anEstate(deadCounts: number[] = []): { estate: Estate; calls: string[] } {
  const calls: string[] = []
  const queue = (id: string) => ({
    async purge() {
      calls.push(`purge ${id}`)
    },
    async inspect() {
      calls.push(`inspect ${id}`)
      return { count: 0, deadCount: deadCounts.shift() ?? 0 }
    },
    async configure(change: ConfigurationChange) {
      calls.push(`configure ${id} ${JSON.stringify(change)}`)
    },
  })
  async function* queues() {}
  const client = {
    queue: (id: string) => queue(id) as unknown as Queue,
    queues,
  } as unknown as Client
  return { estate: makeEstate({ defaults, cleanerUntil: () => client }), calls }
}

test('A queue is emptied, then its dead-letter queue, once nothing is on its way there.', async () => {
  const { estate, calls } = anEstate([2, 1, 0])
  const id = estate.newQueue('order')
  const other = estate.newQueue('text')
  estate.deadLettersOf(id)
  await estate.clear('order')
  expect(calls).toEqual([
    `purge ${id}`,
    `inspect ${id}`,
    `inspect ${id}`,
    `inspect ${id}`,
    `purge ${id}-deadletter`,
  ])
  await estate.clear('text')
  expect(calls.at(-1)).toBe(`purge ${other}`)
})

test('Works on the kept queue take turns, and each finds it as it was taken.', async () => {
  const { estate, calls } = anEstate()
  const work = (name: string) => async (id: string) => {
    calls.push(`${name} begins`)
    await new Promise((resolve) => setImmediate(resolve))
    calls.push(`${name} ends`)
    if (name === 'first') throw new Error(`no ${id}`)
  }
  const works = [
    estate.withKept('settings', work('first')),
    estate.withKept('settings', work('second')),
  ]
  expect((await Promise.allSettled(works)).map(({ status }) => status)).toEqual([
    'rejected',
    'fulfilled',
  ])
  await estate.close()

  const [id = ''] = estate.kept()
  const plain =
    '{"segmentSize":100,"bufferSegments":1,"maxDeliveries":null,"capacity":null,"pushLimit":null,"popLimit":null}'
  const reset = [
    `purge ${id}`,
    `configure ${id} ${plain.replace('"capacity":null', '"capacity":999999')}`,
  ]
  expect(calls).toEqual([
    `configure ${id} {"capacity":999999}`,
    'first begins',
    'first ends',
    ...reset,
    'second begins',
    'second ends',
    ...reset,
    `configure ${id} ${plain}`,
  ])
  expect(estate.leftBehind).toEqual([])
})
