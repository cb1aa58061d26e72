// Lambda's Invoke, by which a function of the stack calls another one with an event and does not wait.

import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readText } from '../events/put-events-server.ts'
import { isFromAPage, NOT_FOR_PAGES } from '../foreign-pages/from-a-page.ts'
import { decode } from '../gateway/route-table.ts'
import type { FunctionPlan } from '../template/plan-functions.ts'
import type { AsyncInvoker } from './async-invoker.ts'

export type InvokeServer = { readonly endpoint: string; stop(): void }

type Answer = { readonly status: number; readonly type?: string; readonly message?: string }

const PATH = /^\/2015-03-31\/functions\/([^/?]+)\/invocations(\?.*)?$/

export async function startInvokeServer(
  functions: readonly FunctionPlan[],
  invoker: Pick<AsyncInvoker, 'submit'>,
): Promise<InvokeServer> {
  const server = createServer((request, response) => {
    answer(functions, invoker, request)
      .then(({ status, type, message }) => {
        response.writeHead(status, {
          'content-type': 'application/json',
          ...(type !== undefined && { 'x-amzn-errortype': type }),
        })
        response.end(type === undefined ? '' : JSON.stringify({ Type: 'User', message }))
      })
      // A process that was killed in the middle of its request must not take the stack along.
      .catch(() => response.destroy())
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

async function answer(
  functions: readonly FunctionPlan[],
  invoker: Pick<AsyncInvoker, 'submit'>,
  request: IncomingMessage,
): Promise<Answer> {
  const { method, url = '', headers } = request
  if (isFromAPage(headers)) return refusal('AccessDeniedException', NOT_FOR_PAGES, 403)
  const [, encoded, query] = (method === 'POST' && PATH.exec(url)) || []
  if (encoded === undefined || query !== undefined) {
    const what = `The local stack knows Invoke without a qualifier only: ${method} ${url}`
    return refusal('UnknownOperationException', what, 404)
  }
  const kind = headers['x-amz-invocation-type'] ?? 'RequestResponse'
  if (kind !== 'Event') {
    const what = `The local stack calls functions only with events that nobody waits for (InvocationType Event), not as ${kind}`
    return refusal('InvalidParameterValueException', what)
  }
  const name = decode(encoded)
  const called = functions.find((one) => one.name === name || one.arn === name)
  if (!called) {
    return refusal('ResourceNotFoundException', `There is no function ${name} in this stack`, 404)
  }
  const text = await readText(request)
  if (text === undefined) {
    return refusal('RequestTooLargeException', 'The event may have up to 1 MiB', 413)
  }
  const event = text || '{}'
  if (!isJson(event)) return refusal('InvalidRequestContentException', 'The event must be JSON')
  invoker.submit(called.arn, event)
  return { status: 202 }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const refusal = (type: string, message: string, status = 400): Answer => ({ status, type, message })
