// A service that breaks one promise: a proxy before a sound one.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type Asked = {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type Answered = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** Answers a request; `pass` asks the sound service. */
export type Fault = (asked: Asked, pass: (asked: Asked) => Promise<Answered>) => Promise<Answered>

export async function startBrokenService(soundUrl: string, fault: Fault) {
  const pass = async ({ method, url, headers, body }: Asked): Promise<Answered> => {
    const target = new URL(url.pathname + url.search, soundUrl)
    const answer = await fetch(target, { method, headers, ...(body !== '' && { body }) })
    return {
      status: answer.status,
      headers: kept(Object.fromEntries(answer.headers)),
      text: await answer.text(),
    }
  }
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const headers = kept(request.headers as Record<string, string>)
    const url = new URL(request.url ?? '/', soundUrl)
    const asked = { method: request.method ?? 'GET', url, headers, body: await text(request) }
    const answer = await fault(asked, pass)
    response.writeHead(answer.status, answer.headers)
    response.end(answer.text)
  }
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop(): Promise<void> {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** These belong to one connection and are not passed on. */
const ofConnections = ['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive']

const kept = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnections.includes(name)))
