import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { writeCode } from '../a-function.ts'
import { until } from '../a-stack.ts'
import { answer, echo, usePools } from './a-pool.ts'

const { poolOf, outputs, texts, directory } = usePools()

/** Says when it begins, and ends when the file of that name is there. */
const gated = `
  import { existsSync } from 'node:fs'
  export const handler = async (event) => {
    console.log('begun ' + event.n)
    while (!existsSync(event.gate)) await new Promise((resolve) => setTimeout(resolve, 5))
    return process.pid
  }`

describe('under load', () => {
  test('there are more processes, one event each, up to the limit; the rest waits in order', async () => {
    const pool = poolOf(gated)
    const gate = join(directory, 'gate-1')
    const outcomes = [1, 2, 3, 4].map((n) => pool.invoke(JSON.stringify({ n, gate })))
    await until(() => outputs.length === 2)
    expect(pool.size).toBe(2)
    expect(texts().sort()).toEqual(['begun 1', 'begun 2'])
    writeCode(directory, 'gate-1', '')
    const pids = (await Promise.all(outcomes)).map(answer)
    expect(new Set(pids).size).toBe(2)
    await until(() => outputs.length === 4)
    expect(texts().slice(2).sort()).toEqual(['begun 3', 'begun 4'])
  })

  test('a process that is held by its event is made up for, up to the limit', async () => {
    const settings = { eager: 1, processesMax: 3, patienceMs: 50, spareCores: () => 0 }
    const pool = poolOf(gated, {}, settings)
    const outcomes = [1, 2, 3, 4].map((n) => pool.invoke(JSON.stringify({ n, gate: 'never' })))
    expect(pool.size).toBe(1)
    await until(() => outputs.length === 3)
    expect(pool.size).toBe(3)
    await pool.stop(0)
    await Promise.all(outcomes)
  })

  test.each([
    { cores: 'no core', spare: 0, more: false },
    { cores: 'a core', spare: 1, more: true },
  ])('that moves on, with $cores to spare: are there more processes? $more', async (row) => {
    const settings = { eager: 1, processesMax: 3, patienceMs: 500, spareCores: () => row.spare }
    const soon = 'export const handler = () => new Promise((resolve) => setTimeout(resolve, 20))'
    const pool = poolOf(soon, {}, settings)
    await Promise.all(Array.from({ length: 100 }, () => pool.invoke('{}')))
    expect(pool.size > 1).toBe(row.more)
  })

  test("the template's own limit is kept", async () => {
    const pool = poolOf(echo, { concurrencyMax: 1 })
    const pids = await Promise.all([1, 2, 3].map(async () => answer(await pool.invoke('{}')).pid))
    expect(new Set(pids).size).toBe(1)
  })

  test('what comes when too many wait is throttled, and so is what waited too long', async () => {
    const pool = poolOf(gated, {}, { processesMax: 1, waitingMax: 2 })
    const gate = join(directory, 'gate-2')
    const running = pool.invoke(JSON.stringify({ n: 1, gate }))
    await until(() => outputs.length === 1)
    const impatient = pool.invoke(JSON.stringify({ n: 2, gate }), Date.now())
    const patient = pool.invoke(JSON.stringify({ n: 3, gate }))
    expect(await pool.invoke(JSON.stringify({ n: 4, gate }))).toEqual({ kind: 'throttled' })
    writeCode(directory, 'gate-2', '')
    expect((await running).kind).toBe('answered')
    expect(await impatient).toEqual({ kind: 'throttled' })
    expect((await patient).kind).toBe('answered')
    expect(texts()).not.toContain('begun 2')
  })

  test('processes that are no longer needed end, but for one', async () => {
    const pool = poolOf(gated, {}, { idleMs: 50 })
    const gate = join(directory, 'gate-3')
    writeCode(directory, 'gate-3', '')
    await Promise.all([1, 2].map((n) => pool.invoke(JSON.stringify({ n, gate }))))
    await until(() => pool.size === 1)
    expect((await pool.invoke(JSON.stringify({ n: 3, gate }))).kind).toBe('answered')
  })
})

describe('a stop', () => {
  test('lets what has begun end, and throttles the rest', async () => {
    const ended: number[] = []
    const pool = poolOf(gated, {}, { processesMax: 1, onEnd: (pid) => ended.push(pid) })
    const gate = join(directory, 'gate-4')
    const running = pool.invoke(JSON.stringify({ n: 1, gate }))
    await until(() => outputs.length === 1)
    const waiting = pool.invoke(JSON.stringify({ n: 2, gate }))
    const stopped = pool.stop(30_000)
    expect(await waiting).toEqual({ kind: 'throttled' })
    writeCode(directory, 'gate-4', '')
    expect((await running).kind).toBe('answered')
    await stopped
    expect(ended).toHaveLength(1)
    expect(await pool.invoke('{}')).toEqual({ kind: 'throttled' })
  })

  test('tells what has begun how little time is left', async () => {
    const code = `
      export const handler = async (_, { getRemainingTimeInMillis }) => {
        console.log('begun')
        while (getRemainingTimeInMillis() > 60_000) await new Promise((done) => setTimeout(done, 5))
        return 'ended'
      }`
    const pool = poolOf(code, { timeoutMs: 900_000 })
    const running = pool.invoke('{}')
    await until(() => outputs.length === 1)
    await pool.stop(60_000)
    expect(answer(await running)).toBe('ended')
  })

  test('does not wait longer than it was told to', async () => {
    const pool = poolOf(gated)
    const running = pool.invoke(JSON.stringify({ n: 1, gate: 'never' }))
    await until(() => outputs.length === 1)
    await pool.stop(10)
    expect((await running).kind).toBe('failed')
    expect(pool.size).toBe(0)
  })
})

test('a process that a stop ends while it starts has not failed to start', async () => {
  const pool = poolOf('await new Promise(() => setTimeout(() => {}, 60_000))')
  const waiting = pool.invoke('{}')
  await until(() => pool.size > 0)
  await pool.stop(0)
  expect(await waiting).toEqual({ kind: 'throttled' })
  // Its end is heard of after a turn of the event loop.
  await delay(20)
  expect(texts()).toEqual([])
})

describe('whose code is replaced', () => {
  const fresh = (name: string) =>
    writeCode(directory, name, "export const handler = async () => 'new'")

  test('a function answers the request that it has, and runs the new code from the next on', async () => {
    const pool = poolOf(gated, {}, { eager: 1, processesMax: 1 })
    const gate = join(directory, 'gate-replaced')
    const old = pool.invoke(JSON.stringify({ n: 1, gate }), Date.now() + 60_000)
    await until(() => outputs.length === 1)
    await pool.replace({ ...pool.plan, codeDirectory: fresh('replaced') })
    const next = pool.invoke('{}')
    writeCode(directory, 'gate-replaced', '')
    expect(answer(await old)).toBeGreaterThan(0)
    expect(answer(await next)).toBe('new')
  })

  test('a function gives back an event for which no caller waits: it has not failed', async () => {
    const pool = poolOf(gated, {}, { eager: 1, processesMax: 1 })
    const old = pool.invoke(JSON.stringify({ n: 1, gate: 'never' }))
    await until(() => outputs.length === 1)
    await pool.replace({ ...pool.plan, codeDirectory: fresh('given-up') })
    expect(await old).toEqual({ kind: 'throttled' })
    expect(answer(await pool.invoke('{}'))).toBe('new')
  })

  test('a function has as many processes as the new plan lets it have', async () => {
    const pool = poolOf(gated, { concurrencyMax: 1 })
    await pool.replace({ ...pool.plan, concurrencyMax: 2 })
    for (const n of [1, 2]) void pool.invoke(JSON.stringify({ n, gate: 'never' }))
    await until(() => outputs.length === 2)
    expect(texts().sort()).toEqual(['begun 1', 'begun 2'])
  })

  test('a function that did not start is started by the new code, and its error is said once', async () => {
    const pool = poolOf("throw new Error('a bug')", {}, { eager: 1, processesMax: 1 })
    for (let n = 0; n < 3; n += 1) expect((await pool.invoke('{}')).kind).toBe('failed')
    expect(texts()).toEqual([expect.stringContaining('a bug')])
    const code = "export const handler = async () => 'mended'"
    await pool.replace({ ...pool.plan, codeDirectory: writeCode(directory, 'mended', code) })
    expect(answer(await pool.invoke('{}'))).toBe('mended')
  })
})
