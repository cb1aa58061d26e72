// `npm start` with PushPop itself: what is printed can be pasted, and what was pushed stays.

import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from './a-stack.ts'
import { type Started, start } from './a-start.ts'

const directory = temporaryFolder()
const running: Started[] = []
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGTERM')
    await ended
  }
})

function startHere(...args: string[]) {
  const started = start(['--port', '0', ...args])
  running.push(started)
  return started
}

const hasCurl = spawnSync('curl', ['--version']).status === 0

describe('npm start', () => {
  test.skipIf(!hasCurl)(
    'prints three lines that work as they are, and a line a request',
    async () => {
      const started = startHere('--data', join(directory, 'curl'))
      const url = await started.url()
      const lines = started.stdout().match(/^ {2}curl .*$/gm) ?? []
      expect(lines).toHaveLength(3)
      const [pushed, seen, popped] = lines.map((line) =>
        JSON.parse(spawnSync('sh', ['-c', line], { encoding: 'utf8' }).stdout),
      )
      expect(pushed).toMatchObject({ success: true, items_pushed: 1 })
      expect(seen).toMatchObject({ count: 1 })
      expect(popped).toMatchObject({ items: [{ order: 17 }], count: 1 })
      expect(started.stdout()).toContain(`Data is kept in ${join(directory, 'curl')}`)

      await fetch(`${url}/queue/orders/nothing`)
      await until(() => started.stdout().includes('/queue/orders/nothing'))
      const [push, look, pop, nothing] = started.stdout().match(/^\d\d:\d\d:\d\d .*$/gm) ?? []
      expect(push).toMatch(/POST {2}\/queue\/orders\/push {2}200 {2}[\d.]+ ms {2}\d+ WRU, \d+ RRU$/)
      expect(look).toMatch(/GET {3}\/queue\/orders {2}200 {2}[\d.]+ ms {2}0\.5 RRU$/)
      expect(pop).toMatch(/POST {2}\/queue\/orders\/pop {2}200 {2}[\d.]+ ms {2}\d+ WRU, \d+ RRU$/)
      expect(nothing).toMatch(/GET {3}\/queue\/orders\/nothing {2}404 NOT_FOUND {2}[\d.]+ ms$/)
      // Not on a terminal: nothing that moves or colours.
      expect(started.stdout()).not.toContain('\u001b')
    },
  )

  test('says on demand how other programs reach its stores, and never over the file of somebody else', async () => {
    const file = join(directory, 'local.env')
    const args = ['--memory', '--env', file]
    const first = startHere(...args)
    await push(await first.url(), 'seen')
    expect(first.stdout()).toContain(`${file} says where the table and the bucket are`)
    const doctor = (env: Record<string, string>) =>
      spawnSync('sh', ['-c', `. ${file} && node cli/main.ts doctor q`], {
        cwd: join(import.meta.dirname, '../..'),
        env: { PATH: process.env.PATH, ...env },
        encoding: 'utf8',
      })
    const others = { PUSHPOP_ENDPOINT: 'http://localhost:9', AWS_PROFILE: 'none', AWS_REGION: 'x' }
    for (const env of [{}, others]) {
      expect(doctor(env)).toMatchObject({
        status: 0,
        stderr: expect.stringMatching(/^q: 1 item, nothing wrong\.$/m),
      })
    }
    // The next start writes it again.
    first.child.kill('SIGTERM')
    await first.ended
    await startHere(...args).url()
    expect(doctor({}).stderr).toMatch(/^There is no queue q\b/m)

    writeFileSync(file, 'SECRET=1\n')
    const refused = startHere(...args)
    expect(await refused.ended).toBe(1)
    expect(refused.stderr()).toMatch(/^Cannot write the environment to .*local\.env because/)
    expect(readFileSync(file, 'utf8')).toBe('SECRET=1\n')
  })

  test('forgets it where it was told to', async () => {
    const first = startHere('--memory')
    await push(await first.url(), 'forgotten')
    expect(first.stdout()).toContain('Data is forgotten at the end.')
    first.child.kill('SIGINT')
    expect(await first.ended).toBe(0)
    expect(await pop(await startHere('--memory').url())).toEqual([])
  })
})

async function push(url: string, item: string) {
  const response = await fetch(`${url}/queue/q/push`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ item }),
  })
  expect(response.status).toBe(200)
}

async function pop(url: string) {
  const response = await fetch(`${url}/queue/q/pop?count=10`, { method: 'POST' })
  return ((await response.json()) as { items: unknown[] }).items
}
