// `pushpop start` as somebody in this project types it: push, pop, a consumer's run, Ctrl-C, and the same again.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Started, start } from '../a-project.ts'

/** A consumer's first run bundles nothing and starts one process. */
const RUN_MS_MAX = 20_000

/** Throws if it does not do what it does in our own repository. */
export async function startAndUse(cwd: string, app: string): Promise<void> {
  const begin = () =>
    start(join(cwd, 'node_modules/.bin/pushpop'), ['--app', app, '--port', '0'], cwd)
  const first = await begin()
  try {
    await push(first, 'mine', 17)
    assert.deepEqual(await pop(first, 'mine'), [17])
    await push(first, 'orders', { order: 18 })
    await saysThat(first, 'ships 18')
    await push(first, 'mine', 19)
  } finally {
    assert.equal(await first.stop(), 0, `Ctrl-C ended it otherwise: ${first.said()}`)
  }
  const second = await begin()
  try {
    assert.deepEqual(await pop(second, 'mine'), [19])
    await push(second, 'orders', { order: 20 })
    await saysThat(second, 'ships 20')
  } finally {
    assert.equal(await second.stop(), 0, `Ctrl-C ended it otherwise: ${second.said()}`)
  }
}

async function saysThat(stack: Started, text: string): Promise<void> {
  const untilMs = performance.now() + RUN_MS_MAX
  while (!stack.said().includes(text)) {
    assert.ok(performance.now() < untilMs, `Nobody said "${text}": ${stack.said()}`)
    await delay(50)
  }
}

const push = (stack: Started, queue: string, item: unknown) =>
  call(stack, `${queue}/push`, { item })

async function pop(stack: Started, queue: string): Promise<unknown> {
  const { items } = await call(stack, `${queue}/pop`)
  return items
}

async function call({ url }: Started, path: string, body?: unknown): Promise<{ items?: unknown }> {
  const response = await fetch(`${url}/queue/${path}`, {
    method: 'POST',
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return JSON.parse(text)
}
