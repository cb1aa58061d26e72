import { expect, test } from 'vitest'
import { AsyncInvoker } from '../../../local/functions/async-invoker.ts'
import { until } from '../a-stack.ts'
import { echo, usePools } from './a-pool.ts'

const { poolOf } = usePools()

test('An event is left out while an earlier one with its key is not done, and its sender hears of that.', async () => {
  const pool = poolOf(echo)
  const { arn } = pool.plan
  let answered = 0
  const invoker = new AsyncInvoker({
    pools: new Map([[arn, pool]]),
    onDropped: (_, __, reason) => expect(reason).toBe('nothing is dropped'),
    onAnswered: () => {
      answered += 1
    },
  })
  expect(invoker.submit(arn, '{}', 'a key')).toBe(true)
  expect(invoker.submit(arn, '{}', 'a key')).toBe(false)
  expect(invoker.submit(arn, '{}', 'another')).toBe(true)
  await until(() => answered === 2)
  await until(() => !invoker.isBusy([arn]))
  expect(invoker.submit(arn, '{}', 'a key')).toBe(true)
  await until(() => answered === 3)
  invoker.stop()
})
