// Stands between the functions and a store and treats requests as networks and services do: it throttles
// and refuses them, delays them, or breaks the connection before or after the store has them.

import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Fault = 'throttled' | 'unsent' | 'unanswered' | 'failed' | 'done and failed' | 'slow'

/** One request in so many meets the fault: often enough that each fault hits every verb within seconds. */
const oneOf: Readonly<Record<Fault, number>> = {
  throttled: 40,
  unsent: 120,
  unanswered: 120,
  failed: 120,
  'done and failed': 120,
  slow: 30,
}

export const kindsOfFault = Object.keys(oneOf).length

export type FaultProxy = {
  readonly endpoint: string
  /** Where it passes requests on to. */
  connect(upstream: string): void
  readonly seen: ReadonlyMap<Fault, number>
  /** From now on it passes everything on. */
  rest(): void
  close(): Promise<void>
}

export async function startFaultProxy(
  service: 'dynamodb' | 's3',
  random: () => number,
): Promise<FaultProxy> {
  let upstream: URL | undefined
  const agent = new Agent({ keepAlive: true })
  const seen = new Map<Fault, number>()
  let resting = false

  function drawFault(): Fault | undefined {
    if (resting) return undefined
    let left = random()
    for (const [fault, odds] of Object.entries(oneOf)) {
      left -= 1 / odds
      if (left < 0) return fault as Fault
    }
    return undefined
  }

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const fault = drawFault()
    if (fault !== undefined) seen.set(fault, (seen.get(fault) ?? 0) + 1)
    if (fault === 'throttled') return refuse(response, service, 'throttled')
    if (fault === 'unsent') return void response.destroy()
    if (fault === 'failed') return refuse(response, service, 'failed')
    if (fault === 'slow') await new Promise((resolve) => setTimeout(resolve, 300 * random()))
    const outgoing = request({
      hostname: upstream?.hostname,
      port: upstream?.port,
      agent,
      method: incoming.method,
      path: incoming.url,
      headers: incoming.headers,
    })
    outgoing.on('response', (answer) => {
      if (fault === 'unanswered') {
        answer.resume()
        response.destroy()
      } else if (fault === 'done and failed') {
        answer.resume()
        refuse(response, service, 'failed')
      } else {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      }
    })
    outgoing.on('error', () => response.destroy())
    outgoing.end(Buffer.concat(chunks))
  }

  const server = createServer((incoming, response) => {
    // The client has hung up.
    handle(incoming, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    connect(url) {
      upstream = new URL(url)
    },
    rest() {
      resting = true
    },
    close: () =>
      new Promise((resolve) => {
        agent.destroy()
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

const answers = {
  dynamodb: {
    throttled: [
      400,
      '{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"slow down"}',
    ],
    failed: [
      500,
      '{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"oops"}',
    ],
  },
  s3: {
    throttled: [503, '<Error><Code>SlowDown</Code><Message>slow down</Message></Error>'],
    failed: [500, '<Error><Code>InternalError</Code><Message>oops</Message></Error>'],
  },
} as const

function refuse(
  response: ServerResponse,
  service: keyof typeof answers,
  how: 'throttled' | 'failed',
): void {
  const [status, body] = answers[service][how]
  const type = service === 's3' ? 'application/xml' : 'application/x-amz-json-1.0'
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
  response.end(body)
}
