import { cpus } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { spareCoresMeter } from '../../../local/functions/spare-cores.ts'

test.each([
  { idle: 0, busy: 0, spare: 0, what: 'as long as no time has passed' },
  { idle: 200, busy: 0, spare: 2, what: 'where none has worked' },
  { idle: 100, busy: 100, spare: 1, what: 'where one of two has worked' },
  { idle: 0, busy: 200, spare: 0, what: 'where both have worked' },
])('there are $spare cores to spare $what', ({ idle, busy, spare }) => {
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
