import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import type { SdkRequest } from '../../../aws/connections.ts'
import {
  createRequestHandler,
  type RequestHandler,
  type RequestHandlerOptions,
} from '../../../aws/connections.ts'
import { failureOf } from '../../../aws/failures.ts'
import { loopbackCertificate, loopbackKey } from '../../support/loopback-certificate.ts'
import { type AServer, requestTo, startServer } from './a-server.ts'

/** Without a deadline it would go on for ever. */
const STALLED = { timeout: 20_000 }

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function open(
  answer: RequestListener,
  options: RequestHandlerOptions = {},
): Promise<[RequestHandler, AServer]> {
  const server = await startServer(createServer(answer))
  const handler = createRequestHandler(options)
  cleanUps.push(server.close, () => handler.destroy?.())
  return [handler, server]
}

/** Until the server knows that the connection is gone. */
async function untilClosed({ open }: AServer): Promise<void> {
  await Promise.all(
    [...open].map(
      (socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())),
    ),
  )
}

describe('Requests', () => {
  it('one after the other use one connection, which is never idle.', async () => {
    const [handler, server] = await open((_, response) => response.end('{}'))
    for (let n = 0; n < 20; n += 1) await handler.handle(requestTo(server.port))
    expect(server.made).toBe(1)
  })

  it('go by TLS as well, and use its connection again.', async () => {
    const trusted = getCACertificates()
    cleanUps.push(() => setDefaultCACertificates(trusted))
    setDefaultCACertificates([...trusted, loopbackCertificate])
    const tls = { key: loopbackKey, cert: loopbackCertificate }
    const server = await startServer(createHttpsServer(tls, (_, response) => response.end('{}')))
    const handler = createRequestHandler()
    cleanUps.push(server.close, () => handler.destroy?.())
    for (const hostname of ['127.0.0.1', '127.0.0.1', 'localhost']) {
      const request = requestTo(server.port, { protocol: 'https:', hostname })
      expect((await handler.handle(request)).response.statusCode).toBe(200)
    }
    expect(server.made).toBe(2)
  })

  /** What arrives of a request. */
  async function arrived(more: Partial<SdkRequest>) {
    let seen: IncomingMessage | undefined
    let body = ''
    const [handler, server] = await open(async (incoming, response) => {
      seen = incoming
      body = await text(incoming)
      response.end()
    })
    await handler.handle(requestTo(server.port, more))
    return { url: seen?.url, method: seen?.method, headers: seen?.headers, body }
  }

  it.each<[string, unknown, string]>([
    ['text', '{"a":"ü"}', '{"a":"ü"}'],
    ['bytes', new TextEncoder().encode('ü'), 'ü'],
    ['a stream', Readable.from(['a', 'b']), 'ab'],
    ['nothing', undefined, ''],
  ])('bring a body that is %s.', async (_, body, expected) => {
    expect((await arrived({ body })).body).toBe(expected)
  })

  it('bring method, headers, path and query, which is encoded as AWS signs it.', async () => {
    const { url, method, headers } = await arrived({
      method: 'PUT',
      path: '/key%20a',
      query: { 'x-id': 'PutObject', delete: '', versions: null, list: ["it's (1)*", 'ü'] },
      headers: { authorization: 'AWS4' },
    })
    expect(method).toBe('PUT')
    expect(headers?.authorization).toBe('AWS4')
    const list = 'list=it%27s%20%281%29%2a&list=%C3%BC'
    expect(url).toBe(`/key%20a?x-id=PutObject&delete=&versions&${list}`)
  })

  it('do not ask whether they may send their body.', async () => {
    const headers = { Expect: '100-continue', 'content-length': '3' }
    const seen = await arrived({ headers, body: 'abc' })
    expect(seen.headers?.expect).toBeUndefined()
    expect(seen.body).toBe('abc')
  })

  it('of another kind are refused, and nothing is sent.', async () => {
    const [handler, server] = await open(() => {})
    const sending = handler.handle(requestTo(server.port, { body: new Date() }))
    await expect(sending).rejects.toThrow('Cannot send a body that is neither text nor bytes')
    expect(server.made).toBe(0)
  })
})

describe('An answer', () => {
  const answered: RequestListener = (_, response) => {
    response.writeHead(404, 'Gone', { 'x-amzn-requestid': 'r1' })
    response.write('one ')
    response.end('two')
  }

  it('comes with its status, headers and all of its bytes.', async () => {
    const [handler, { port }] = await open(answered)
    const { response } = await handler.handle(requestTo(port))
    expect(response).toMatchObject({ statusCode: 404, reason: 'Gone' })
    expect(response.headers).toMatchObject({ 'x-amzn-requestid': 'r1' })
    expect(response.body).toEqual(new Uint8Array(Buffer.from('one two')))
  })

  it('is a stream if the protocol is not JSON, as the SDK wants it.', async () => {
    const [handler, { port }] = await open(answered)
    const { response } = await handler.handle(requestTo(port, { headers: {} }))
    expect(response.body).toBeInstanceOf(Readable)
    expect(await text(response.body)).toBe('one two')
  })

  it.each<[string, RequestListener]>([
    ['does not come', () => {}],
    ['stalls after its headers', (_, response) => response.writeHead(200).flushHeaders()],
    [
      'stalls in its body',
      (_, response) => {
        response.writeHead(200, { 'content-length': 100 }).write('{"half":')
      },
    ],
  ])(
    'that %s ends in time, nobody knows with what, and frees its connection.',
    STALLED,
    async (_, stall) => {
      const [handler, server] = await open(stall, { answerTimeoutMs: 50 })
      const error = await handler.handle(requestTo(server.port)).catch((reason: unknown) => reason)
      expect(error).toMatchObject({ name: 'TimeoutError', code: 'ETIMEDOUT' })
      expect(failureOf(error)).toBe('unknown')
      await untilClosed(server)
    },
  )

  it('that stalls ends at the time that its own command was given, if any.', async () => {
    const [handler, { port }] = await open(() => {}, { answerTimeoutMs: 60 })
    const sending = handler.handle(requestTo(port), { requestTimeout: 50 })
    await expect(sending).rejects.toThrow('within 50 ms')
    // To the SDK, 0 means none.
    const another = handler.handle(requestTo(port), { requestTimeout: 0 })
    await expect(another).rejects.toThrow('within 60 ms')
  })

  it.each<[string, RequestListener]>([
    ['the answer', ({ socket }) => socket.destroy()],
    [
      'the end of its body',
      ({ socket }, response) => {
        response.writeHead(200, { 'content-length': 100 }).write('half', () => socket.destroy())
      },
    ],
  ])('whose connection breaks before %s is one that nobody knows.', async (_, breakOff) => {
    const [handler, { port }] = await open(breakOff)
    const error = await handler.handle(requestTo(port)).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'ECONNRESET' })
    expect(failureOf(error)).toBe('unknown')
  })

  it('on a connection that was used before is one that nobody knows, too.', async () => {
    let asked = 0
    const [handler, server] = await open(({ socket }, response) => {
      asked += 1
      if (asked === 1) response.end('{}')
      else socket.destroy()
    })
    await handler.handle(requestTo(server.port))
    const error = await handler.handle(requestTo(server.port)).catch((reason: unknown) => reason)
    expect(failureOf(error)).toBe('unknown')
    expect(server.made).toBe(1)
  })

  it('larger than anything that is stored is not taken.', async () => {
    const chunk = Buffer.alloc(4 * 1024 * 1024)
    const endless = new Readable({
      read() {
        this.push(chunk)
      },
    })
    // A busy machine takes seconds for so much.
    const busy = { answerTimeoutMs: 60_000 }
    const [handler, server] = await open((_, response) => endless.pipe(response), busy)
    const sending = handler.handle(requestTo(server.port))
    await expect(sending).rejects.toThrow('an answer from 127.0.0.1 of more than 134217728 bytes')
    await untilClosed(server)
  })
})

describe('A request that its caller aborts', () => {
  it('ends, and frees its connection.', async () => {
    const controller = new AbortController()
    const [handler, server] = await open(() => controller.abort(new Error('enough')))
    const sending = handler.handle(requestTo(server.port), { abortSignal: controller.signal })
    await expect(sending).rejects.toMatchObject({
      name: 'AbortError',
      cause: { message: 'enough' },
    })
    await untilClosed(server)
  })

  it('before it was sent is not sent.', async () => {
    const [handler, server] = await open(() => {})
    const sending = handler.handle(requestTo(server.port), { abortSignal: AbortSignal.abort() })
    await expect(sending).rejects.toMatchObject({ name: 'AbortError' })
    expect(server.made).toBe(0)
  })

  /** Of the SDK's own making: it has one handler, and no listeners. */
  const plainSignal = () => {
    const signal = {
      aborted: false,
      reason: new Error('enough'),
      onabort: null as null | (() => void),
    }
    const abort = () => {
      signal.aborted = true
      signal.onabort?.()
    }
    return { signal, abort }
  }
  /** A polyfill's, or one of another realm. */
  const foreignSignal = () => {
    const { signal } = plainSignal()
    const target = new EventTarget()
    const listens = Object.assign(target, signal)
    const abort = () => {
      listens.aborted = true
      target.dispatchEvent(new Event('abort'))
    }
    return { signal: listens, abort }
  }

  it.each([
    ['with one handler', plainSignal],
    ['of another realm', foreignSignal],
  ])('by a signal %s, has no answer, before or after it left.', async (_, make) => {
    const { signal, abort } = make()
    const [handler, server] = await open(abort)
    const options = { abortSignal: signal as unknown as AbortSignal }
    const aborted = { name: 'AbortError', cause: signal.reason }
    await expect(handler.handle(requestTo(server.port), options)).rejects.toMatchObject(aborted)
    await expect(handler.handle(requestTo(server.port), options)).rejects.toMatchObject(aborted)
  })

  it('by a signal with one handler, and is never told, is answered.', async () => {
    const [handler, server] = await open((_, response) => response.end('{}'))
    const { signal } = plainSignal()
    const options = { abortSignal: signal as unknown as AbortSignal }
    const { response } = await handler.handle(requestTo(server.port), options)
    expect(response.statusCode).toBe(200)
  })
})
