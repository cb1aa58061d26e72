// How `npm start` ends, asked to or not: what was answered is kept, and nothing goes on running.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { descendantsOf, hasProc, isAlive } from '../support/processes.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until, withJournal } from './a-stack.ts'
import { type Started, start, writeApp } from './a-start.ts'

let directory: string
let temporary: string
let app: string
const running: ChildProcess[] = []

/** `/keep/{id}` stores, `GET /keep/{id}` looks, `/slow` takes its time, `/busy` does not end. */
const code = () =>
  withJournal(
    directory,
    `const dynamodb = async (operation, input) => {
      const response = await fetch(process.env.AWS_ENDPOINT_URL_DYNAMODB, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-amz-json-1.0',
          'x-amz-target': 'DynamoDB_20120810.' + operation,
          'x-amz-date': '20260101T000000Z',
          authorization: 'AWS4-HMAC-SHA256 Credential=a/b/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
        },
        body: JSON.stringify({ TableName: process.env.TABLE, ...input }),
      })
      return response.json()
    }
    export const handler = async (event) => {
      const pk = { S: String(event.pathParameters?.id) }
      switch (event.routeKey) {
        case 'POST /keep/{id}':
          return dynamodb('PutItem', { Item: { pk } })
        case 'GET /keep/{id}':
          return dynamodb('GetItem', { Key: { pk }, ConsistentRead: true })
        case 'GET /slow':
          write('slow')
          await new Promise((resolve) => setTimeout(resolve, 500))
          return 'slow but sure'
        default:
          write('busy')
          for (;;) {}
      }
    }`,
  )

beforeEach(() => {
  directory = temporaryFolder()
  temporary = temporaryFolder()
  app = writeApp(join(directory, 'app'), {
    functions: {
      Serve: {
        code: code(),
        properties: { Timeout: 20, Environment: { Variables: { TABLE: { Ref: 'Table' } } } },
      },
    },
    routes: {
      'POST /keep/{id}': 'Serve',
      'GET /keep/{id}': 'Serve',
      'GET /slow': 'Serve',
      'GET /busy': 'Serve',
    },
  })
})
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})

function startHere(...args: string[]): Started {
  const data = args.includes('--memory') ? [] : ['--data', join(directory, 'data')]
  const started = start(['--port', '0', '--app', app, ...data, ...args], { TMPDIR: temporary })
  running.push(started.child)
  return started
}

const keep = async (url: string, id: string) => {
  const response = await fetch(`${url}/keep/${id}`, { method: 'POST' })
  expect(response.status).toBe(200)
}
const isKept = async (url: string, id: string) =>
  'Item' in ((await (await fetch(`${url}/keep/${id}`)).json()) as object)
const journal = () => existsSync(join(directory, 'journal'))

describe.skipIf(!hasProc)('npm start', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'answers what is in flight after %s, ends with 0 and leaves nothing',
    async (signal) => {
      const started = startHere('--memory')
      const url = await started.url()
      const slow = fetch(`${url}/slow`)
      await until(journal)
      const processes = descendantsOf(started.pid)
      // The host of the stores, DynamoDB and one function.
      expect(processes).toHaveLength(3)
      started.child.kill(signal)
      // Ctrl-C arrives a second time by way of npm's script.
      started.child.kill(signal)
      expect(await (await slow).text()).toBe('slow but sure')
      expect(await started.ended).toBe(0)
      expect(processes.filter(isAlive)).toEqual([])
      expect(readdirSync(temporary)).toEqual([])
      await expect(fetch(url)).rejects.toThrow()
      expect(started.stderr()).toBe('')
    },
  )

  test('killed outright keeps what was answered, leaves nothing and starts again at once', async () => {
    const first = startHere()
    const url = await first.url()
    const answered: string[] = []
    const keepOn = async (client: number) => {
      for (let n = 0; ; n++) {
        await keep(url, `${client}-${n}`)
        answered.push(`${client}-${n}`)
      }
    }
    const clients = [1, 2, 3].map((client) => keepOn(client).catch(() => {}))
    await until(() => answered.length > 50)
    const processes = descendantsOf(first.pid)
    first.child.kill('SIGKILL')

    const second = startHere()
    const again = await second.url()
    await Promise.all(clients)
    expect(processes.length).toBeGreaterThan(2)
    await until(() => !processes.some(isAlive))
    for (const id of answered) expect(await isKept(again, id), id).toBe(true)
  })

  test.each([
    ['its functions, however busy', '/busy'],
    ['its temporary folder', '/slow'],
  ])('killed outright takes along %s', async (_, path) => {
    const started = startHere('--memory')
    const url = await started.url()
    fetch(`${url}${path}`).catch(() => {})
    await until(journal)
    const processes = descendantsOf(started.pid)
    expect(processes).toHaveLength(3)
    started.child.kill('SIGKILL')
    await until(() => !processes.some(isAlive) && readdirSync(temporary).length === 0)
  })

  test('ends with a sentence when the process of its stores is killed', async () => {
    const started = startHere()
    await keep(await started.url(), 'a')
    const processes = descendantsOf(started.pid)
    const host = processes.find((pid) => descendantsOf(pid).length > 0) ?? 0
    process.kill(host, 'SIGKILL')
    expect(await started.ended).toBe(1)
    expect(started.stderr()).toMatch(
      /^Cannot go on because the process of the embedded stores ended.*\n$/,
    )
    await until(() => !processes.some(isAlive))
  })

  test('that is asked to end while it starts leaves nothing', async () => {
    const started = startHere('--memory')
    await until(() => started.stdout().includes('Starting DynamoDB'))
    started.child.kill('SIGTERM')
    expect(await started.ended).toBe(0)
    expect(started.stderr()).toBe('')
    expect(readdirSync(temporary)).toEqual([])
  })

  test('ends when npm, which started it, is killed', async () => {
    const script = `
      const { spawn } = require('node:child_process')
      spawn(process.execPath, JSON.parse(process.argv[1]), { stdio: 'inherit' })
      setInterval(() => {}, 1000)`
    const args = ['scripts/start.ts', '--port', '0', '--memory', '--app', app]
    const npm = spawn(process.execPath, ['--eval', script, JSON.stringify(args)], {
      cwd: join(import.meta.dirname, '../..'),
      env: { PATH: process.env.PATH, TMPDIR: temporary, npm_lifecycle_event: 'start' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    running.push(npm)
    let output = ''
    npm.stdout.on('data', (text) => {
      output += text
    })
    await until(() => output.includes('Ctrl-C ends it'))
    const processes = descendantsOf(npm.pid ?? 0)
    npm.kill('SIGKILL')
    await until(() => !processes.some(isAlive))
    expect(readdirSync(temporary)).toEqual([])
  })
})
