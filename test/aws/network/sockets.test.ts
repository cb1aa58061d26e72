import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Sockets } from '../../../aws/connections.ts'
import { type AServer, startServer } from './a-server.ts'

const IDLE_MS_MAX = 4_000

let server: AServer
let sockets: Sockets
let nowMs = 1_000_000
beforeEach(async () => {
  server = await startServer(createServer((_, response) => response.end('answer')))
  sockets = new Sockets('http:', { socketsMax: 3, idleMsMax: IDLE_MS_MAX, nowMs: () => nowMs })
})
afterEach(async () => {
  sockets.agent.destroy()
  await server.close()
})

/** One request, and the socket it went by, which is idle then. */
async function ask(): Promise<Socket> {
  await sockets.ready()
  const request = sockets.request({ agent: sockets.agent, port: server.port }).end()
  const [response] = await once(request, 'response')
  const socket = request.socket as Socket
  await Promise.all([once(socket, 'free'), response.resume()])
  return socket
}

const idle = (): readonly Socket[] =>
  Object.values(sockets.agent.freeSockets).flatMap((s) => s ?? [])

describe('An idle connection', () => {
  it.each([0, 1, IDLE_MS_MAX])('is used again after %i ms.', async (ms) => {
    const first = await ask()
    nowMs += ms
    expect(await ask()).toBe(first)
    expect(server.made).toBe(1)
  })

  it.each([
    ['after a longer time', IDLE_MS_MAX + 1],
    ['where the clock has gone back', -1],
  ])('is closed and not used %s.', async (_, ms) => {
    const first = await ask()
    nowMs += ms
    expect(await ask()).not.toBe(first)
    expect(first.destroyed).toBe(true)
    expect(server.made).toBe(2)
  })

  it('that was closed a moment ago, which the agent has not heard of, is not used.', async () => {
    const all = await Promise.all([ask(), ask(), ask()])
    // The agent itself looks at the first alone, and takes the last.
    for (const socket of idle()) socket.destroy()
    expect(all).not.toContain(await ask())
    expect(server.made).toBe(4)
  })

  it('whose other end has closed its side is not used.', async () => {
    // Up to Node 22, that is how it is between the end that was read and the socket's own.
    const first = await ask()
    first.end()
    expect(await ask()).not.toBe(first)
  })

  it('is waited for only if it was idle at all.', async () => {
    await ask()
    expect(sockets.ready()).toBeUndefined()
    nowMs += 1
    expect(sockets.ready()).toBeInstanceOf(Promise)
  })
})

it('No more connections are made than there may be, and no request is lost over it.', async () => {
  await Promise.all(Array.from({ length: 20 }, ask))
  expect(server.made).toBe(3)
})
