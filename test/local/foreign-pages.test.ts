// The ports of the stack that are not for callers: what a web page that finds one can do there.

import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventBuses, startPutEventsServer } from '../../local/events/event-bus.ts'
import type { LocalServer } from '../../local/loopback.ts'
import { findDynoxide } from '../../local/stores/dynoxide-binary.ts'
import { type EmbeddedDynamodb, startDynoxide, startS3 } from '../../local/stores/embedded.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type RawRequest, sendRaw } from './raw-request.ts'

const directory = temporaryFolder()
const delivered: unknown[] = []
let s3: LocalServer
let events: LocalServer
beforeAll(async () => {
  s3 = await startS3(directory)
  const targets = [{ functionArn: 'arn' }]
  const rule = { id: 'All', busName: 'default', pattern: { source: ['a'] }, targets }
  const buses = new EventBuses({
    buses: ['default'],
    rules: [rule],
    deliver: (_, event) => delivered.push(event),
  })
  events = await startPutEventsServer(buses)
})
afterAll(() => {
  s3.stop()
  events.stop()
})

const pages: readonly [string, Readonly<Record<string, string>>][] = [
  ['of any origin', { origin: 'https://evil.test' }],
  ['of this machine', { origin: 'http://localhost:3000' }],
  ['that shows an image', { 'sec-fetch-site': 'cross-site' }],
  ['whose name was made to mean this machine', { host: 'evil.test:80' }],
]

describe('The embedded S3', () => {
  const put: RawRequest = { method: 'PUT', path: '/bucket/key', body: 'kept' }
  beforeAll(async () => {
    await sendRaw(s3.endpoint, { method: 'PUT', path: '/bucket' })
    expect((await sendRaw(s3.endpoint, put)).status).toBe(200)
  })

  test.each(pages)('shows a page %s nothing, and takes nothing from it', async (_, headers) => {
    for (const sent of [
      { method: 'GET', path: '/bucket/key' },
      { method: 'GET', path: '/bucket' },
      { ...put, body: 'lost' },
      { method: 'DELETE', path: '/bucket/key' },
      {
        method: 'POST',
        path: '/bucket?delete',
        body: '<Delete><Object><Key>key</Key></Object></Delete>',
      },
    ]) {
      const { status, text } = await sendRaw(s3.endpoint, { ...sent, headers })
      expect([status, text.includes('kept')]).toEqual([403, false])
    }
    expect(await sendRaw(s3.endpoint, { method: 'GET', path: '/bucket/key' })).toEqual({
      status: 200,
      text: 'kept',
    })
  })
})

describe('The event buses', () => {
  const put = {
    method: 'POST',
    body: JSON.stringify({ Entries: [{ Source: 'a', DetailType: 'b', Detail: '{}' }] }),
  }
  const target = { 'x-amz-target': 'AWSEvents.PutEvents' }

  test.each(pages)('take no event from a page %s', async (_, headers) => {
    const { status } = await sendRaw(events.endpoint, {
      ...put,
      headers: { ...target, ...headers },
    })
    expect(status).toBe(403)
    expect(delivered).toEqual([])
  })

  test('take it from a function', async () => {
    expect((await sendRaw(events.endpoint, { ...put, headers: target })).status).toBe(200)
    expect(delivered).toHaveLength(1)
  })
})

const binary = findDynoxide(process)
const hasOtherAddresses = await canListenOn('127.45.67.89')

// It lets pages of all origins call, and cannot be told not to.
describe.skipIf(binary === undefined || !hasOtherAddresses)('The embedded DynamoDB', () => {
  const started: EmbeddedDynamodb[] = []
  afterAll(async () => {
    for (const one of started) await one.stop()
  })

  test('is at an address that no page can guess, another each time', async () => {
    for (let n = 1; n <= 2; n += 1) started.push(await startDynoxide(binary as string))
    const hosts = started.map(({ endpoint }) => new URL(endpoint).hostname)
    expect(new Set([...hosts, '127.0.0.1']).size).toBe(3)
    for (const { endpoint } of started) {
      const { hostname, port } = new URL(endpoint)
      expect(hostname).toMatch(/^127\.\d+\.\d+\.\d+$/)
      await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow()
      expect((await fetch(endpoint)).ok).toBe(true)
    }
  })
})

/** macOS has 127.0.0.1 and no other. */
function canListenOn(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(0, host, () => server.close(() => resolve(true)))
  })
}
