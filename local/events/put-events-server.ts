// Where the SDK of a local function sends PutEvents.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isFromAPage, NOT_FOR_PAGES } from '../foreign-pages/from-a-page.ts'
import { isObject } from '../template/assembly.ts'
import type { EventBuses } from './event-bus.ts'

export type PutEventsServer = { readonly endpoint: string; stop(): void }

/** EventBridge's own. */
const ENTRIES_MAX = 10
/** Lambda's, too. */
const BODY_BYTES_MAX = 1024 * 1024

export async function startPutEventsServer(buses: EventBuses): Promise<PutEventsServer> {
  const server = createServer((request, response) => {
    // A process that was killed in the middle of its request must not take the stack along.
    serve(buses, request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}`,
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function serve(buses: EventBuses, request: IncomingMessage, response: ServerResponse) {
  const { headers } = request
  const { status, output } = isFromAPage(headers)
    ? refusal('AccessDeniedException', NOT_FOR_PAGES, 403)
    : answer(buses, String(headers['x-amz-target']), await readText(request))
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' })
  response.end(JSON.stringify(output))
}

/** Returns nothing if the body is too long. */
export async function readText(request: AsyncIterable<Buffer>): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes <= BODY_BYTES_MAX) chunks.push(chunk)
  }
  return bytes <= BODY_BYTES_MAX ? Buffer.concat(chunks).toString('utf8') : undefined
}

function answer(buses: EventBuses, target: string, text: string | undefined) {
  if (target !== 'AWSEvents.PutEvents') {
    return refusal('UnknownOperationException', `The local stack knows PutEvents only: ${target}`)
  }
  if (text === undefined) return refusal('ValidationException', 'A request may have up to 1 MiB')
  const entries = entriesOf(text)
  if (!entries || entries.length === 0 || entries.length > ENTRIES_MAX) {
    return refusal('ValidationException', `Entries must be a list of 1 to ${ENTRIES_MAX}`)
  }
  const results = entries.map((entry) => buses.put(entry))
  const failed = results.filter((result) => 'ErrorCode' in result).length
  return { status: 200, output: { FailedEntryCount: failed, Entries: results } }
}

function entriesOf(text: string): readonly Record<string, unknown>[] | undefined {
  try {
    const input: unknown = JSON.parse(text)
    const entries = isObject(input) ? input.Entries : undefined
    return Array.isArray(entries) && entries.every(isObject) ? entries : undefined
  } catch {
    return undefined
  }
}

const refusal = (type: string, message: string, status = 400) => ({
  status,
  output: { __type: type, message },
})
