import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Outcome } from '../../../local/functions/messages.ts'
import { writeCode } from '../a-function.ts'
import { until } from '../a-stack.ts'
import { answer, echo, usePools } from './a-pool.ts'

const { poolOf, outputs, texts, directory } = usePools()

const errorOf = (outcome: Outcome) =>
  outcome.kind === 'failed' ? JSON.parse(outcome.payload) : outcome

describe('a function', () => {
  test('answers event after event in the same process', async () => {
    const pool = poolOf(echo)
    const first = answer(await pool.invoke('{"n":1}'))
    expect(first.n).toBe(1)
    expect(answer(await pool.invoke('{"n":2}'))).toEqual({ n: 2, pid: first.pid })
    expect(pool.size).toBe(1)
  })

  test('has the environment of the template and of Lambda, and no variables of ours', async () => {
    process.env.PUSHPOP_OF_OURS = 'secret'
    const pool = poolOf('export const handler = async () => process.env', {
      environment: { MINE: '1' },
    })
    const environment = answer(await pool.invoke('{}'))
    delete process.env.PUSHPOP_OF_OURS
    expect(environment).toMatchObject({
      MINE: '1',
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'S3RVER',
      AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:1',
      AWS_LAMBDA_FUNCTION_NAME: 'Shop-Fn',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '128',
      _HANDLER: 'index.handler',
      _X_AMZN_TRACE_ID: expect.stringMatching(/^Root=1-/),
    })
    for (const name of ['PUSHPOP_OF_OURS', 'HOME', 'PATH', 'NODE_OPTIONS']) {
      expect(environment).not.toHaveProperty(name)
    }
  })

  test('has a context', async () => {
    const pool = poolOf(
      `export const handler = async (_, context) =>
        ({ ...context, remaining: context.getRemainingTimeInMillis(), heap: process.execArgv })`,
      { timeoutMs: 5000 },
    )
    const context = answer(await pool.invoke('{}'))
    expect(context).toMatchObject({
      functionName: 'Shop-Fn',
      memoryLimitInMB: '128',
      invokedFunctionArn: 'arn:aws:lambda:us-east-1:123456789012:function:Shop-Fn',
      awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      heap: ['--max-old-space-size=115', '--enable-source-maps'],
    })
    expect(context.remaining).toBeGreaterThan(0)
    expect(context.remaining).toBeLessThanOrEqual(5000)
  })

  test('that throws has failed, and goes on', async () => {
    const pool = poolOf(`export const handler = async (event) => {
      if (event.bad) throw new TypeError('no good')
      return process.pid
    }`)
    const pid = answer(await pool.invoke('{}'))
    expect(errorOf(await pool.invoke('{"bad":true}'))).toMatchObject({
      errorType: 'TypeError',
      errorMessage: 'no good',
    })
    expect(answer(await pool.invoke('{}'))).toBe(pid)
    expect(texts().some((text) => text.includes('no good'))).toBe(true)
  })

  test.each([
    ['exits', 'process.exit(3)', /exit code 3/, undefined],
    ['is killed', 'process.kill(process.pid, "SIGKILL")', /SIGKILL/, true],
    ['crashes', 'process.abort()', /SIGABRT/, undefined],
    [
      'throws where nobody catches',
      'setTimeout(() => { throw new Error("late") })',
      /exit code 1/,
      undefined,
    ],
  ])('that %s is started again', async (_, code, reason, wasKilled) => {
    const pool = poolOf(`export const handler = (event) => {
      if (!event.bad) return process.pid
      ${code}
      return new Promise(() => {})
    }`)
    const pid = answer(await pool.invoke('{}'))
    const outcome = await pool.invoke('{"bad":true}')
    expect(errorOf(outcome).errorMessage).toMatch(reason)
    expect('wasKilled' in outcome ? outcome.wasKilled : undefined).toBe(wasKilled)
    expect(answer(await pool.invoke('{}'))).not.toBe(pid)
  })

  test.each([
    ['waits for ever', 'return new Promise(() => {})'],
    ['is busy for ever', 'for (;;) {}'],
  ])('that %s is killed when its time is over', async (_, code) => {
    const pool = poolOf(
      `export const handler = (event) => {
      if (event.bad) { ${code} }
      return 'fine'
    }`,
      { timeoutMs: 300 },
    )
    const outcome = errorOf(await pool.invoke('{"bad":true}'))
    expect(outcome).toEqual({
      errorType: 'Sandbox.Timedout',
      errorMessage: 'Task timed out after 0.30 seconds',
    })
    expect(answer(await pool.invoke('{}'))).toBe('fine')
  })

  test.each([
    ['cannot be loaded', 'throw new Error("broken")', /broken/],
    ['has no handler', 'export const other = 1', /index.handler is undefined/],
    ['is no JavaScript', 'export const', /Unexpected/],
  ])('whose code %s fails each event, and each tries again', async (_, code, says) => {
    const pool = poolOf(code)
    const outcomes = await Promise.all(['1', '2', '3'].map((event) => pool.invoke(event)))
    expect(outcomes.map((outcome) => errorOf(outcome).errorMessage)).toEqual([
      expect.stringMatching(says),
      expect.stringMatching(says),
      expect.stringMatching(says),
    ])
  })

  test.each([
    ['nothing', 'undefined', 'null'],
    ['a promise', 'Promise.resolve("x")', '"x"'],
  ])('may return %s', async (_, code, payload) => {
    expect(await poolOf(`export const handler = () => ${code}`).invoke('{}')).toEqual({
      kind: 'answered',
      payload,
    })
  })

  test.each([
    ['what is no JSON', '1n', 'Runtime.MarshalError'],
    ['more than Lambda takes', '"x".repeat(6291557)', 'Function.ResponseSizeTooLarge'],
  ])('may not return %s', async (_, code, errorType) => {
    const outcome = await poolOf(`export const handler = () => ${code}`).invoke('{}')
    expect(errorOf(outcome).errorType).toBe(errorType)
  })

  test('ends with the process that started it, whatever it still has to do', async () => {
    const folder = writeCode(
      directory,
      'kept-open',
      'setInterval(() => {}, 1000); export const handler = () => 1',
    )
    const runner = join(import.meta.dirname, '../../../local/functions/runner.mjs')
    const env = { _HANDLER: 'index.handler', LAMBDA_TASK_ROOT: folder }
    const child = fork(runner, [], { env, execArgv: [], serialization: 'advanced' })
    expect(await once(child, 'message')).toMatchObject([{ kind: 'ready' }, undefined])
    child.disconnect()
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  test('is heard line by line, and its line about the request comes with the answer', async () => {
    const pool = poolOf(`export const handler = async ({ quiet }) => {
      if (quiet) return
      process.stdout.write('half a ')
      console.log('line')
      console.error('to stderr')
      console.log(JSON.stringify({ level: 'info', message: 'request', write_units: 2 }))
    }`)
    const outcome = await pool.invoke('{}')
    expect(outcome.summary).toEqual({ level: 'info', message: 'request', write_units: 2 })
    expect(await pool.invoke('{"quiet":true}')).not.toHaveProperty('summary')
    await until(() => outputs.length === 3)
    expect(outputs).toContainEqual({ functionId: 'Fn', stream: 'stdout', text: 'half a line' })
    expect(outputs).toContainEqual({ functionId: 'Fn', stream: 'stderr', text: 'to stderr' })
  })

  test('is heard before its answer is given, even where the answer is read first', async () => {
    const pool = poolOf(
      `export const handler = async (n) => {
        console.log(JSON.stringify({ level: 'info', message: 'request', n }))
        return n
      }`,
      {},
      { processesMax: 1 },
    )
    for (let n = 0; n < 5; n += 1) {
      const outcome = pool.invoke(String(n))
      // Meanwhile it prints and answers: both are there when this process looks again.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
      expect((await outcome).summary).toMatchObject({ n })
    }
  })
})

describe('a module', () => {
  // Where the CDK puts bundles: Node looks for modules in the project's node_modules.
  const root = join(import.meta.dirname, '../../..')
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const project = mkdtempSync(join(cache, 'pushpop-test-'))
  afterAll(() => rmSync(project, { recursive: true }))
  let codes = 0
  const inProject = (code: string) => {
    codes += 1
    return poolOf('', { codeDirectory: writeCode(project, `f${codes}`, code) })
  }
  const required =
    "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

  test.each([
    ['a package of the project', "import 'vitest'", 'vitest'],
    ['a package that is required', `${required} require('vitest')`, 'vitest'],
    [
      'a file beside the bundle',
      "import '../../../../package.json' with { type: 'json' }",
      'package.json',
    ],
  ])('that AWS would not have is not here either: %s', async (_, load, name) => {
    const pool = inProject(`${load}\nexport const handler = () => 1`)
    const { errorMessage } = errorOf(await pool.invoke('{}'))
    expect(errorMessage).toContain(name)
    expect(errorMessage).toMatch(/^Cannot find '.*' for index\.mjs: it is not in the bundle/)
  })

  test('of the bundle, of Node and of the SDK that the runtime brings is here', async () => {
    const pool = inProject(
      `import { join } from 'node:path'
       import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
       import { n } from './part.mjs'
       export const handler = () => [typeof join, typeof DynamoDBClient, n]`,
    )
    writeFileSync(join(pool.plan.codeDirectory, 'part.mjs'), 'export const n = 1')
    expect(answer(await pool.invoke('{}'))).toEqual(['function', 'function', 1])
  })

  test('of the SDK that is not installed says that AWS has it', async () => {
    const pool = inProject("import '@aws-sdk/client-nothing'\nexport const handler = () => 1")
    const { errorMessage } = errorOf(await pool.invoke('{}'))
    expect(errorMessage).toMatch(/AWS has it.*npm install --save-dev @aws-sdk\/client-nothing$/)
  })

  test('that the code can do without is missing by the code that it looks for', async () => {
    const pool = inProject(
      `${required} let found
       try { found = require('vitest') } catch (error) { found = error.code }
       export const handler = () => found`,
    )
    expect(answer(await pool.invoke('{}'))).toBe('MODULE_NOT_FOUND')
  })
})
