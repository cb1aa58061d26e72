// The same cases as contract.test.ts and hostile.test.ts, over real HTTP against what `npm start`
// runs: the synthesised functions in processes of their own, which share nothing but the stores.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LocalStack, startLocalStack } from '../../testing/index.ts'
import type { CaseTools } from './call.ts'
import { inspect, lock, pushItems, runCase } from './cases/actions.ts'
import { contractCases } from './contract-cases.ts'
import { documented } from './documented.ts'
import { surprisesOf } from './hostile/hostile-cases.ts'
import { httpCall } from './http-call.ts'

let stack: LocalStack
let tools: CaseTools
beforeAll(async () => {
  stack = await startLocalStack({ port: 0 })
  let made = 0
  tools = {
    call: documented(httpCall(stack.url)),
    queue() {
      made += 1
      return `queue-${made}`
    },
    pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    sweep: () => stack.invoke('ReturnExpiredLocks', {}),
    housekeep: (queue) => stack.invoke('Housekeep', { Records: [changeOf(queue)] }),
  }
})
afterAll(() => stack?.stop())

/** As the table's stream would tell of it. */
const changeOf = (queue: string) => ({
  dynamodb: { Keys: { pk: { S: `q#${queue}` }, sk: { S: 'queue' } }, SequenceNumber: '1' },
})

describe.each(Object.entries(contractCases))('%s', (_, cases) => {
  it.each(Object.entries(cases))('%s.', (_, run) => runCase(run, tools))
})

describe('Hostile requests', () => {
  it('get the error they deserve, in its shape, and change nothing.', async () => {
    const { call } = tools
    const queue = 'target'
    await pushItems(call, queue, ['canary-item', 'b', 'c'])
    await lock(call, queue, 'ttl_seconds=300')
    const before = await inspect(call, queue)
    expect(await surprisesOf(call, queue)).toEqual([])
    expect(await inspect(call, queue)).toEqual(before)
  })
})
