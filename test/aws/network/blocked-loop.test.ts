// What has come while the process could not look, frozen or busy, counts before anything is decided.

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createRequestHandler } from '../../../aws/connections.ts'
import { requestTo } from './a-server.ts'
import type { Told } from './server-thread.ts'

const ANSWER_TIMEOUT_MS = 1_000

let server: Worker
let done: Int32Array
let port = 0
let nowMs = 1_000_000
const handler = createRequestHandler({ answerTimeoutMs: ANSWER_TIMEOUT_MS, nowMs: () => nowMs })

beforeEach(async () => {
  const shared = new SharedArrayBuffer(4)
  done = new Int32Array(shared)
  server = new Worker(new URL('server-thread.ts', import.meta.url), { workerData: shared })
  port = (await once(server, 'message'))[0].port
})
afterEach(async () => {
  handler.destroy?.()
  await server.terminate()
})

/** Nothing else happens in this thread until the server has done it. */
function tellAndWait(what: Told): void {
  const before = Atomics.load(done, 0)
  server.postMessage(what)
  expect(Atomics.wait(done, 0, before, 10_000)).not.toBe('timed-out')
}

async function ask(): Promise<void> {
  const answer = handler.handle(requestTo(port))
  // Or it fails.
  await Promise.race([once(server, 'message'), answer])
  tellAndWait('answer')
  expect((await answer).response.statusCode).toBe(200)
}

it('An answer that came before the process looked at the time is taken.', async () => {
  await ask()
  const askedMs = performance.now()
  const answer = handler.handle(requestTo(port))
  await once(server, 'message')
  tellAndWait('answer')
  while (performance.now() < askedMs + ANSWER_TIMEOUT_MS);
  expect((await answer).response.statusCode).toBe(200)
})

it('A connection that ended after the process last looked is not used.', async () => {
  await ask()
  // The answer was among what the loop read in this turn: for what comes now it looks in the next.
  tellAndWait('end')
  nowMs += 1
  await ask()
})
