import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorTable } from '../../lambdas/http/error-table.ts'
import { type Call, json } from './call.ts'
import { inspect, lock, pushItems } from './cases/actions.ts'
import { documented } from './documented.ts'
import { hostileCases } from './hostile/hostile-cases.ts'
import { embeddedService, type Service } from './service.ts'

let service: Service
let call: Call
const queue = 'target'
beforeAll(async () => {
  service = await embeddedService()
  call = documented(service.call)
  await pushItems(call, queue, ['canary-item', 'b', 'c'])
  await lock(call, queue, 'ttl_seconds=300')
})
afterAll(() => service.close())

describe('Hostile requests', () => {
  it('are 600 and more, each with a name of its own.', () => {
    expect(hostileCases.length).toBeGreaterThan(600)
    expect(new Set(hostileCases.map(({ name }) => name)).size).toBe(hostileCases.length)
  })

  it('get the error they deserve, in its shape, and change nothing.', async () => {
    const before = await inspect(call, queue)
    const surprises: string[] = []
    for (const { name, method, path, options, code } of hostileCases) {
      const answer = await call(method, path(queue), options)
      const body = json(answer)
      const isRight = body.error_code === code && answer.status === errorTable[code].status
      if (!isRight) surprises.push(`${name}: ${answer.status} ${answer.text.slice(0, 200)}`)
      if (answer.text.includes('canary')) surprises.push(`${name}: tells an item`)
      if (answer.text.length > 1_000) surprises.push(`${name}: a long answer`)
    }
    expect(surprises).toEqual([])
    expect(await inspect(call, queue)).toEqual(before)
  })

  it('leave no trace of what they carried in the log.', () => {
    const marks = ['canary', '<script>', 'lock_id', '....', 'xxxxxxxx']
    for (const line of service.lines) {
      for (const mark of marks) expect(line).not.toContain(mark)
      expect(line.length).toBeLessThan(1_500)
    }
  })
})
