// The client in a page of another origin than the service's, in headless Chromium. Skipped where
// there is no Chromium: PUSHPOP_CHROMIUM says where it is.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signedHeaders } from '../../client/auth.ts'
import { type LocalStack, startLocalStack } from '../../testing/index.ts'
import { type Chromium, findChromium, type Page, startChromium } from './chromium.ts'

const file = findChromium()
const reason = 'no Chromium found: install it, or name it in PUSHPOP_CHROMIUM'

/** Plain http and not this machine's name: the least a browser gives, without crypto.subtle. */
const origin = 'http://shop.test'

let stack: LocalStack
let server: Server
let chromium: Chromium
let page: Page

describe.skipIf(file === undefined)(
  `in Chromium${file === undefined ? ` (${reason})` : ''}`,
  () => {
    beforeAll(async () => {
      const script = await bundled()
      server = createServer((request, response) => {
        const isScript = request.url === '/client.js'
        response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
        response.end(isScript ? script : '<!doctype html><script src="/client.js"></script>')
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      stack = await startLocalStack({ port: 0, context: { corsOrigins: origin } })
      chromium = await startChromium(file as string, [
        `--host-resolver-rules=MAP shop.test:80 127.0.0.1:${port}`,
        '--no-proxy-server',
      ])
      page = chromium.page
      await page.open(origin)
    })
    afterAll(async () => {
      await chromium?.stop()
      await stack?.stop()
      server?.close()
    })

    const inPage = (body: string) =>
      page.evaluate(`(async () => {
      const { createClient, isPushPopError, rawJson } = pushpop
      const client = createClient({ url: ${JSON.stringify(stack.url)} })
      ${body}
    })()`)

    test('the page is of another origin, and not a secure one', async () => {
      expect(await page.evaluate('[location.origin, isSecureContext]')).toEqual([origin, false])
    })

    test('it pushes, peeks, pops and acknowledges', async () => {
      const result = await inPage(`
      const queue = client.queue('web')
      await queue.push({ a: 'é😀' }, { priority: 1, idempotent: true })
      await queue.push(rawJson('12345678901234567890'))
      const peeked = []
      for await (const { text } of queue.items({ limit: 1 })) peeked.push(text)
      const { items, lock } = await queue.pop({ count: 2, requireAck: true })
      const { etag } = await queue.configuration()
      await queue.configure({ capacity: 9 }, { ifMatch: etag })
      return [peeked, items.map(({ value }) => value), await queue.acknowledge(lock.id)]`)
      expect(result).toEqual([
        ['12345678901234567890', '{"a":"é😀"}'],
        [12345678901234567000, { a: 'é😀' }],
        { itemsAcknowledged: 2 },
      ])
    })

    test('it sees the codes of errors, and how long to wait', async () => {
      const result = await inPage(`
      const queue = client.queue('locked')
      await queue.push(1)
      await queue.pop({ requireAck: true, ttlSeconds: 60 })
      const error = await queue.pop().catch((it) => it)
      return [error.code, error.retryAfterMs >= 50_000, isPushPopError(error, 'QUEUE_LOCKED')]`)
      expect(result).toEqual(['QUEUE_LOCKED', true, true])
    })

    test('it consumes, and stops', async () => {
      const result = await inPage(`
      const queue = client.queue('work')
      await queue.pushMany(Array.from({ length: 20 }, (_, item) => ({ item })))
      const stop = new AbortController()
      const seen = []
      const counts = await queue.consume(({ value }) => {
        seen.push(value)
        if (seen.length === 20) stop.abort()
      }, { signal: stop.signal, batchSize: 3 })
      return [seen, counts, (await queue.inspect({ consistent: true })).count]`)
      const all = Array.from({ length: 20 }, (_, i) => i)
      expect(result).toEqual([all, { acknowledged: 20, released: 0, deadLettered: 0 }, 0])
    })

    test('signing where crypto.subtle is missing is an error in one sentence', async () => {
      const result = await inPage(`
      const credentials = { accessKeyId: 'A', secretAccessKey: 'S' }
      const auth = { kind: 'iam', credentials, region: 'eu-west-1' }
      const error = await createClient({ url: ${JSON.stringify(stack.url)}, auth }).health().catch((it) => it)
      return [error.code, error.message]`)
      expect(result).toEqual(['UNAUTHORIZED', expect.stringMatching(/^Cannot sign the request: /)])
    })

    test('on a secure page it signs as Node does', async () => {
      const { port } = server.address() as AddressInfo
      await page.open(`http://localhost:${port}/`)
      const credentials = { accessKeyId: 'AKID', secretAccessKey: 'SECRET', sessionToken: 'T' }
      const url = 'https://abc.execute-api.eu-west-1.amazonaws.com'
      const headers = (await page.evaluate(`(async () => {
      let headers
      const fetch = async (_, init) => {
        headers = init.headers
        return new Response('{"status":"ok"}')
      }
      const auth = { kind: 'iam', credentials: ${JSON.stringify(credentials)} }
      await pushpop.createClient({ url: '${url}', auth, fetch }).queue('q').push('é').catch(() => {})
      return headers
    })()`)) as Record<string, string>
      const date = headers['x-amz-date'] as string
      const nowMs = Date.parse(date.replace(/(....)(..)(..T..)(..)(..Z)/, '$1-$2-$3:$4:$5'))
      const expected = await signedHeaders({
        method: 'POST',
        url: new URL(`${url}/queue/q/push`),
        headers: { 'content-type': 'application/json' },
        body: '{"item":"é"}',
        credentials,
        region: 'eu-west-1',
        nowMs,
      })
      expect(headers).toEqual(expected)
    })
  },
)

async function bundled(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, '../../client/index.ts')],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'pushpop',
    platform: 'browser',
    minify: true,
  })
  return outputFiles[0]?.text ?? ''
}
