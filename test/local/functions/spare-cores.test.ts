import { cpus } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { spareCoresMeter } from '../../../local/functions/function-pool.ts'

test.each([
  [0, 'as long as no time has passed', 0, 0],
  [2, 'where none has worked', 200, 0],
  [1, 'where one of two has worked', 100, 100],
  [0, 'where both have worked', 0, 200],
])('there are %s cores to spare %s', (spare, _, idle, busy) => {
  const looks = [
    { idleMs: 5_000, totalMs: 9_000, cores: 2 },
    { idleMs: 5_000 + idle, totalMs: 9_000 + idle + busy, cores: 2 },
  ]
  let look = 0
  const spareCores = spareCoresMeter(() => looks[look++]!)
  expect([spareCores(), spareCores()]).toEqual([0, spare])
})

test('this machine has no more to spare than it has, and less while one works', async () => {
  const spareCores = spareCoresMeter()
  spareCores()
  await delay(50)
  expect(spareCores()).toBeLessThanOrEqual(cpus().length)
  const endMs = Date.now() + 200
  while (Date.now() < endMs);
  expect(spareCores()).toBeLessThan(cpus().length - 0.5)
})
