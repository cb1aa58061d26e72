import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { path } from './cases/actions.ts'
import { simulatedService } from './service.ts'

const text = fc.oneof(
  fc.json(),
  fc.string({ unit: 'binary' }).map((it) => JSON.stringify(it)),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom('1.0', '1e400', '-0', '{"a":1,"a":2}', '"\\ud800"', '[ 1 ]', '{"items":[]}'),
)

describe('An item', () => {
  it('comes back as the bytes that were pushed, among any others.', async () => {
    const { call } = simulatedService()
    let queues = 0
    const check = fc.asyncProperty(
      fc.array(fc.record({ text, priority: fc.nat({ max: 3 }) }), { minLength: 1, maxLength: 12 }),
      fc.boolean(),
      async (items, inBulk) => {
        queues += 1
        const queue = `q${queues}`
        const bodies = items.map((it) => `{"priority":${it.priority},"item":${it.text}}`)
        const pushes = inBulk ? [`{"items":[${bodies.join(',')}]}`] : bodies
        for (const body of pushes) {
          const pushed = await call('POST', path(queue, 'push'), { body })
          expect(pushed.status, pushed.text).toBe(200)
        }
        const inOrder = [0, 1, 2, 3].flatMap((priority) =>
          items.filter((it) => it.priority === priority).map((it) => it.text),
        )
        const expected = `{"items":[${inOrder.join(',')}],"count":${items.length},`
        const seen = await call('GET', path(queue, 'items'))
        expect(seen.text.startsWith(expected)).toBe(true)
        const popped = await call('POST', path(queue, 'pop'), { query: 'count=100' })
        expect(popped.text.startsWith(expected)).toBe(true)
        expect(() => JSON.parse(popped.text)).not.toThrow()
      },
    )
    await fc.assert(check, { numRuns: 1_500 })
  })
})
