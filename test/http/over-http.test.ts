// The same cases as contract.test.ts and hostile.test.ts, over real HTTP against what `npm start`
// runs: the synthesised functions in processes of their own, which share nothing but the stores.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorTable } from '../../lambdas/http/error-table.ts'
import { type LocalStack, startLocalStack } from '../../testing/index.ts'
import { type CaseTools, json } from './call.ts'
import { inspect, lock, pushItems } from './cases/actions.ts'
import { contractCases } from './contract-cases.ts'
import { documented } from './documented.ts'
import { hostileCases } from './hostile/hostile-cases.ts'
import { httpCall } from './http-call.ts'
import { named } from './service.ts'

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
  it.each(named(cases))('%s.', (_, { run }) => run(tools))
})

describe('Hostile requests', () => {
  it('get the error they deserve, in its shape, and change nothing.', async () => {
    const { call } = tools
    const queue = 'target'
    await pushItems(call, queue, ['canary-item', 'b', 'c'])
    await lock(call, queue, 'ttl_seconds=300')
    const before = await inspect(call, queue)
    const surprises: string[] = []
    for (const { name, method, path, options, code } of hostileCases) {
      const answer = await call(method, path(queue), options)
      const isRight = answer.status === errorTable[code].status && json(answer).error_code === code
      if (!isRight) surprises.push(`${name}: ${answer.status} ${answer.text.slice(0, 200)}`)
      if (answer.text.includes('canary')) surprises.push(`${name}: tells an item`)
    }
    expect(surprises).toEqual([])
    expect(await inspect(call, queue)).toEqual(before)
  })
})
