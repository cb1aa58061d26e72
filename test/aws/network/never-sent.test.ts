// What never left this machine changed nothing, and is told apart from what nobody knows of.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
} from 'node:tls'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { HttpRequest } from '@smithy/core/protocols'
import { afterEach, describe, expect, it } from 'vitest'
import { createRequestHandler, type RequestHandlerOptions } from '../../../aws/connections.ts'
import { type Failure, failureOf } from '../../../aws/failures.ts'
import { freeze } from '../../support/freeze.ts'
import { loopbackCertificate, loopbackKey } from '../../support/loopback-certificate.ts'
import { requestTo, startServer } from './a-server.ts'

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function serve(onConnection: (socket: Socket) => void): Promise<number> {
  const server = await startServer(createServer(onConnection))
  cleanUps.push(() => server.close())
  return server.port
}

function handlerWith(options: RequestHandlerOptions) {
  const handler = createRequestHandler(options)
  cleanUps.push(() => handler.destroy?.())
  return handler
}

type Target = { readonly protocol: string; readonly hostname?: string; readonly port: number }
type Situation = () => Target | Promise<Target>

/** A second is long here; and a deadline is not to be what ends it. */
const soon = { connectTimeoutMs: 100, answerTimeoutMs: 30_000 }
const https = 'https:'
const http = 'http:'

const situations = {
  'a name that nobody has': () => ({ protocol: http, hostname: 'nobody.invalid', port: 80 }),
  'a port on which nobody listens': async () => {
    const server = await startServer()
    await server.close()
    return { protocol: http, port: server.port }
  },
  'a host that does not answer': async () => ({ protocol: http, port: await portOfTheDeaf() }),
  'a network that cannot be reached': () => ({
    protocol: http,
    hostname: '255.255.255.255',
    port: 80,
  }),
  'a connection that ends before TLS is there': async () => ({
    protocol: https,
    port: await serve((socket) => socket.destroy()),
  }),
  'a connection that is reset before TLS is there': async () => ({
    protocol: https,
    port: await serve((socket) => socket.once('data', () => socket.resetAndDestroy())),
  }),
  'a server that says nothing of TLS': async () => ({
    protocol: https,
    port: await serve(() => {}),
  }),
  'a server that does not know TLS': async () => ({
    protocol: https,
    port: await serve((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad\r\n\r\n')),
    ),
  }),
  'a certificate that nobody trusts': async () => {
    const server = createTlsServer({ key: loopbackKey, cert: loopbackCertificate }, () => {})
    const { port, close } = await startServer(server)
    cleanUps.push(close)
    return { protocol: https, port }
  },
} satisfies Readonly<Record<string, Situation>>

describe('A request is told to have never left, because of', () => {
  it.each(Object.entries(situations))('%s.', async (_, situation) => {
    const { port, ...more } = await situation()
    const sending = handlerWith(soon).handle(requestTo(port, more))
    const error = await sending.catch((reason: unknown) => reason)
    expect(error).toMatchObject({ name: 'RequestNotSentError', cause: expect.any(Error) })
    expect(failureOf(error)).toBe('unsent')
  })

  it('other requests that hold all the connections there may be.', async () => {
    const server = await startServer(createHttpServer(() => {}))
    const handler = handlerWith({ socketsMax: 1, answerTimeoutMs: 30_000 })
    const request = requestTo(server.port)
    const first = handler.handle(request).catch((reason: unknown) => reason)
    const second = handler.handle(request, { requestTimeout: 50 })
    await expect(second).rejects.toMatchObject({ name: 'RequestNotSentError' })
    expect(server.made).toBe(1)
    await server.close()
    expect(failureOf(await first)).toBe('unknown')
  })
})

/**
 * A connection can come about while no request holds it, if the one that it was made for is given up.
 * What the next request sends on it may have left all the same.
 */
describe.each([http, https])(
  'A request on a connection made for another is not taken for unsent (%s)',
  (protocol) => {
    const answers: Readonly<Record<string, (socket: Socket) => void>> = {
      'that is broken off': (socket) => socket.destroy(),
      'that nobody answers': () => {},
    }
    async function serverOf(answer: (socket: Socket) => void) {
      let asked: (socket: Socket) => void = () => {}
      const onRequest = ({ socket }: { readonly socket: Socket }) => asked(socket)
      const trusted = getCACertificates('default')
      cleanUps.push(() => setDefaultCACertificates(trusted))
      setDefaultCACertificates([...trusted, loopbackCertificate])
      const server = await startServer(
        protocol === https
          ? createHttpsServer({ key: loopbackKey, cert: loopbackCertificate }, onRequest)
          : createHttpServer(onRequest),
      )
      cleanUps.push(() => server.close())
      let arrived = 0
      return {
        request: requestTo(server.port, { protocol }),
        arrived: () => arrived,
        /** By then a connection that was made for nobody has come about. */
        async answerFromNow() {
          await setTimeout(50)
          asked = (socket) => {
            arrived += 1
            answer(socket)
          }
        },
      }
    }

    it.each(Object.entries(answers))(
      'one that waited in line and is given up: %s.',
      async (_, answer) => {
        const server = await serverOf(answer)
        const handler = handlerWith({ socketsMax: 2, answerTimeoutMs: 300, connectTimeoutMs: 100 })
        await Promise.allSettled([1, 2, 3].map(() => handler.handle(server.request)))
        await server.answerFromNow()
        const error = await handler.handle(server.request).catch((reason: unknown) => reason)
        expect([failureOf(error), server.arrived()]).toEqual(['unknown', 1])
      },
    )

    it.each(Object.entries(answers))('one that is aborted at once: %s.', async (_, answer) => {
      const server = await serverOf(answer)
      const handler = handlerWith({ answerTimeoutMs: 300, connectTimeoutMs: 100 })
      const caller = new AbortController()
      const aborted = handler.handle(server.request, { abortSignal: caller.signal })
      caller.abort()
      await expect(aborted).rejects.toThrow('aborted')
      await server.answerFromNow()
      const error = await handler.handle(server.request).catch((reason: unknown) => reason)
      expect([failureOf(error), server.arrived()]).toEqual(['unknown', 1])
    })
  },
)

describe('The SDK’s own handler leaves it open in some cases, and says so by code or call in others:', () => {
  const handlerThatWaits = (ms: number) => {
    const times = { connectionTimeout: ms, requestTimeout: ms, throwOnRequestTimeout: true }
    return new DynamoDBClient({ region: 'us-east-1', requestHandler: times }).config.requestHandler
  }
  const told: Readonly<Record<keyof typeof situations, readonly [Failure, number]>> = {
    'a name that nobody has': ['unsent', 30_000],
    'a port on which nobody listens': ['unsent', 30_000],
    // It has neither a code nor a name of its own.
    'a host that does not answer': ['unknown', 100],
    'a network that cannot be reached': ['unsent', 30_000],
    'a connection that ends before TLS is there': ['unknown', 30_000],
    'a connection that is reset before TLS is there': ['unknown', 30_000],
    'a server that says nothing of TLS': ['unknown', 100],
    'a server that does not know TLS': ['unknown', 30_000],
    'a certificate that nobody trusts': ['unsent', 30_000],
  }
  it.each(Object.entries(told))('%s.', async (name, [failure, waitMs]) => {
    const { port, ...more } = await situations[name as keyof typeof situations]()
    const handler = handlerThatWaits(waitMs)
    cleanUps.push(() => handler.destroy?.())
    const sending = handler.handle(new HttpRequest({ ...requestTo(port, more) } as never))
    expect(failureOf(await sending.catch((reason: unknown) => reason))).toBe(failure)
  })
})

/** A listener that is frozen and has its line full: the system drops what is sent to it. */
async function portOfTheDeaf(): Promise<number> {
  const child = fork(join(import.meta.dirname, 'deaf-listener.ts'))
  const [port] = (await once(child, 'message')) as [number]
  await freeze(child)
  const line = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  cleanUps.push(async () => {
    for (const socket of line) socket.destroy()
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  })
  return port
}
