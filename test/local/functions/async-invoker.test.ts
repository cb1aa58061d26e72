import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { AsyncInvoker } from '../../../local/functions/async-invoker.ts'
import type { FunctionPool } from '../../../local/functions/function-pool.ts'
import { writeCode } from '../a-function.ts'
import { until } from '../a-stack.ts'
import { answer, echo, usePools } from './a-pool.ts'

const { poolOf, texts, directory } = usePools()

const ofArn = (name: string) => ({ arn: `arn:aws:lambda:us-east-1:123456789012:function:${name}` })

/** Says which event it begins, and ends when the event's file is there. */
const gated = `
  import { existsSync } from 'node:fs'
  export const handler = async (event) => {
    console.log('begun ' + event.n)
    while (!existsSync(event.gate)) await new Promise((resolve) => setTimeout(resolve, 5))
    return event.n
  }`
const event = (n: number, gate = 'never') => JSON.stringify({ n, gate: join(directory, gate) })

function invokerOf(...pools: FunctionPool[]) {
  const answered: string[] = []
  const invoker = new AsyncInvoker({
    pools: new Map(pools.map((pool) => [pool.plan.arn, pool])),
    onDropped: (_, __, reason) => expect(reason).toBe('nothing is dropped'),
    onAnswered: (id) => answered.push(id),
    retryFirstMs: 20,
  })
  return { invoker, answered }
}

test('An event is left out while an earlier one with its key is not done.', async () => {
  const pool = poolOf(gated)
  const { arn } = pool.plan
  const { invoker, answered } = invokerOf(pool)
  invoker.submit(arn, event(1, 'key'), 'a key')
  invoker.submit(arn, event(2, 'key'), 'a key')
  invoker.submit(arn, event(3, 'key'), 'another')
  await until(() => texts().length === 2)
  writeCode(directory, 'key', '')
  await until(() => answered.length === 2)
  invoker.submit(arn, event(4, 'key'), 'a key')
  await until(() => answered.length === 3)
  expect(texts().sort()).toEqual(['begun 1', 'begun 3', 'begun 4'])
  invoker.stop()
})

test('While events are held none begins, and a function that brings the end of the wait goes on.', async () => {
  const work = poolOf(echo, ofArn('Work'))
  const sweep = poolOf(echo, { ...ofArn('Sweep'), id: 'Sweep', afterRestart: {} })
  const { invoker, answered } = invokerOf(work, sweep)
  const release = invoker.hold()
  const releaseSecond = invoker.hold()
  invoker.submit(work.plan.arn, '{"n":1}')
  const called = invoker.invoke(work.plan.arn, '{"n":2}')
  invoker.submit(sweep.plan.arn, '{}')
  expect(answer(await invoker.invoke(sweep.plan.arn, '{"n":3}'))).toMatchObject({ n: 3 })
  await until(() => answered.includes('Sweep'))
  release()
  await delay(50)
  expect(work.size).toBe(0)
  releaseSecond()
  expect(answer(await called)).toMatchObject({ n: 2 })
  await until(() => answered.includes('Fn'))
  invoker.stop()
})

test('An event that waits for a process when the wait begins is held as well, and then runs once.', async () => {
  const pool = poolOf(gated, {}, { eager: 1, processesMax: 2, patienceMs: 60_000 })
  const { invoker, answered } = invokerOf(pool)
  invoker.submit(pool.plan.arn, event(1, 'first'))
  await until(() => texts().length === 1)
  invoker.submit(pool.plan.arn, event(2, 'second'))
  const release = invoker.hold()
  expect(invoker.isAtWork()).toBe(true)
  writeCode(directory, 'first', '')
  writeCode(directory, 'second', '')
  await until(() => answered.length === 1)
  await delay(100)
  expect(invoker.isAtWork()).toBe(false)
  expect(texts()).toEqual(['begun 1'])
  release()
  await until(() => answered.length === 2)
  expect(texts()).toEqual(['begun 1', 'begun 2'])
  invoker.stop()
})

test('A function is at work with any event or request, once it has had an event; one that ends is not.', async () => {
  const work = poolOf(gated, ofArn('Work'))
  const serve = poolOf(gated, ofArn('Serve'))
  const sweep = poolOf(gated, { ...ofArn('Sweep'), afterRestart: {} })
  const { invoker } = invokerOf(work, serve, sweep)
  const inAMinute = () => Date.now() + 60_000
  const requests = [serve.invoke(event(1, 'done'), inAMinute())]
  invoker.submit(sweep.plan.arn, event(2, 'done'))
  await until(() => texts().length === 2)
  expect(invoker.isAtWork()).toBe(false)
  const run = invoker.invoke(work.plan.arn, event(3))
  await until(() => texts().length === 3)
  expect(invoker.isAtWork()).toBe(true)
  await work.replace({ ...work.plan })
  expect(invoker.isAtWork()).toBe(false)
  expect(await run).toEqual({ kind: 'throttled' })
  requests.push(work.invoke(event(4, 'done'), inAMinute()))
  await until(() => texts().length === 4)
  await work.replace({ ...work.plan })
  expect(invoker.isAtWork()).toBe(true)
  writeCode(directory, 'done', '')
  await Promise.all(requests)
  invoker.stop()
})

test('A stop ends the wait: what was held does not begin any more.', async () => {
  const pool = poolOf(echo)
  const { invoker } = invokerOf(pool)
  const release = invoker.hold()
  invoker.submit(pool.plan.arn, '{}')
  const called = invoker.invoke(pool.plan.arn, '{}')
  invoker.stop()
  expect(await called).toEqual({ kind: 'throttled' })
  release()
  expect(pool.size).toBe(0)
})

test('A call that finds no process in time is given up, and does not begin later; one that has begun is waited for.', async () => {
  const pool = poolOf(gated, {}, { processesMax: 1 })
  const { arn } = pool.plan
  const { invoker, answered } = invokerOf(pool)
  const soon = () => Date.now() + 50
  invoker.submit(arn, event(1, 'busy'))
  await until(() => texts().length === 1)
  expect(await invoker.invoke(arn, event(2, 'busy'), soon())).toEqual({ kind: 'throttled' })
  writeCode(directory, 'busy', '')
  await until(() => answered.length === 1)
  const called = invoker.invoke(arn, event(3, 'called'), soon())
  await delay(100)
  writeCode(directory, 'called', '')
  expect(answer(await called)).toBe(3)
  expect(texts()).toEqual(['begun 1', 'begun 3'])
  invoker.stop()
})
