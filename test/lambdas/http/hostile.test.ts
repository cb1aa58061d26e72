import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Call } from './call.ts'
import { inspect, lock, pushItems } from './cases/actions.ts'
import { documented } from './documented.ts'
import { hostileCases, surprisesOf } from './hostile/hostile-cases.ts'
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
    expect(await surprisesOf(call, queue)).toEqual([])
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
