// Somebody else's page in a browser on this machine, in headless Chromium. Skipped where there is no
// Chromium: PUSHPOP_CHROMIUM says where it is.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../client/index.ts'
import { type LocalStack, startLocalStack } from '../../local/start-local-stack.ts'
import { type Chromium, findChromium, type Page, startChromium } from '../client/chromium.ts'
import { until } from './a-stack.ts'

const file = findChromium()
const reason = 'no Chromium found: install it, or name it in PUSHPOP_CHROMIUM'

const evil = 'http://evil.test'
const shop = 'http://shop.test'

let stack: LocalStack
let server: Server
let chromium: Chromium
let page: Page

describe.skipIf(file === undefined)(
  `a page in Chromium${file === undefined ? ` (${reason})` : ''}`,
  () => {
    beforeAll(async () => {
      server = createServer((_, response) => {
        response.setHeader('content-type', 'text/html').end('<!doctype html><title>page</title>')
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      stack = await startLocalStack({ port: 0, context: { corsOrigins: shop } })
      const stackPort = new URL(stack.url).port
      chromium = await startChromium(file as string, [
        `--host-resolver-rules=MAP evil.test:80 127.0.0.1:${port},MAP shop.test:80 127.0.0.1:${port},` +
          // What a name server says a moment later: DNS rebinding.
          `MAP evil.test:${stackPort} 127.0.0.1:${stackPort}`,
        '--no-proxy-server',
      ])
      page = chromium.page
      await createClient({ url: stack.url }).queue('q').push('secret')
    })
    afterAll(async () => {
      await chromium?.stop()
      await stack?.stop()
      server?.close()
    })

    const count = async () => {
      const state = await createClient({ url: stack.url }).queue('q').inspect({ consistent: true })
      return state.count
    }

    test.each([
      ['pops', '/queue/q/pop'],
      ['purges', '/queue/q/purge'],
    ])('of somebody else %s nothing by a request that needs no asking', async (_, path) => {
      await page.open(evil)
      const url = JSON.stringify(`${stack.url}${path}`)
      await page.evaluate(`fetch(${url}, { method: 'POST', mode: 'no-cors' }).then(() => 0)`)
      expect(await count()).toBe(1)
    })

    test('of somebody else pops nothing by a form', async () => {
      await page.open(evil)
      const url = JSON.stringify(`${stack.url}/queue/q/pop`)
      await page.evaluate(`new Promise((resolve) => {
        document.body.innerHTML = '<iframe name="f"></iframe><form method="post" target="f"></form>'
        const [frame] = document.getElementsByTagName('iframe')
        const [form] = document.forms
        form.action = ${url}
        frame.onload = resolve
        form.submit()
      })`)
      expect(await count()).toBe(1)
    })

    test('of somebody else reads nothing and pops nothing once its name means this machine', async () => {
      const { port } = new URL(stack.url)
      await page.open(`${evil}:${port}/`)
      expect(await page.evaluate('location.origin')).toBe(`${evil}:${port}`)
      const ask = (path: string, method: string) =>
        page.evaluate(
          `fetch('${path}', { method: '${method}' }).then(async (it) => [it.status, await it.text()])`,
        )
      for (const answer of [
        await ask('/queue/q/items', 'GET'),
        await ask('/queue/q/pop', 'POST'),
      ]) {
        expect(answer).toEqual([403, expect.stringContaining('its Host header is')])
        expect(JSON.stringify(answer)).not.toContain('secret')
      }
      expect(await count()).toBe(1)
    })

    test('of an origin in corsOrigins may call', async () => {
      await page.open(shop)
      const url = JSON.stringify(`${stack.url}/queue/q/items`)
      expect(await page.evaluate(`fetch(${url}).then((it) => it.text())`)).toContain('secret')
    })

    test('of somebody else may have a link, which shows its answer to who follows it', async () => {
      await page.open(evil)
      const url = `${stack.url}/queue/q/items`
      await page.evaluate(`void (location.href = ${JSON.stringify(url)})`)
      await until(async () => (await page.evaluate('location.href').catch(() => '')) === url)
      expect(await page.evaluate('document.body.textContent')).toContain('secret')
    })
  },
)
