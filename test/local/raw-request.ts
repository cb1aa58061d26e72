import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export type RawRequest = {
  readonly method: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** With any `Host`: `fetch` sets that by itself, and what a rebound name leads to is another. */
export async function sendRaw(endpoint: string, sent: RawRequest) {
  const { method, path = '/', headers = {}, body } = sent
  const sending = request(`${endpoint}${path}`, { method, headers }).end(body)
  const [status, text] = await new Promise<[number, string]>((resolve, reject) => {
    sending.on('error', reject)
    sending.on('response', async (response) => {
      const chunks: Buffer[] = await response.toArray()
      resolve([response.statusCode ?? 0, Buffer.concat(chunks).toString()])
    })
  })
  return { status, text }
}

/** Sends half a body, and is gone: a process that is killed in the middle of a request. */
export async function breakOff(
  endpoint: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const { hostname, port } = new URL(endpoint)
  const socket = connect(Number(port), hostname)
  const lines = Object.entries({ host: hostname, 'content-length': '1000', ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  await new Promise((resolve) => socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n{`, resolve))
  // By then the other side reads the body.
  await delay(50)
  socket.destroy()
  await delay(50)
}
