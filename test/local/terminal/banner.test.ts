import { expect, test } from 'vitest'
import { planStack } from '../../../local/template/plan.ts'
import { banner } from '../../../local/terminal/banner.ts'

const service = {
  name: 'Api',
  id: 'api',
  routes: [{ key: 'POST /queue/{id}/push', functionArn: 'arn', timeoutMs: 1_000 }],
}

/** The lines to paste, of an app with a consumer of these queues. */
function linesFor(matchers: readonly unknown[] | undefined): string {
  const pattern = matchers === undefined ? { source: ['shop'] } : { detail: { queue: matchers } }
  const plan = {
    ...planStack([]),
    apis: [service],
    eventRules: [{ id: 'Rule', busName: 'bus', pattern, targets: [] }],
  }
  const [url, seconds] = ['http://localhost:8000', 1]
  return banner({ url, urls: {}, plan, seconds, typed: 'pushpop start' }, (_, shown) => shown)
}

const queuesIn = (text: string): readonly string[] =>
  [...text.matchAll(/^ {2}curl .*\/queue\/([^/\s]+)/gm)].map(([, queue = '']) => queue)

test.each([
  ['one queue', ['mails'], 'mails'],
  ['a prefix', [{ prefix: 'device.' }], 'device.1'],
  ['a pattern', [{ wildcard: 'tenant-*-mails' }], 'orders'],
  ['none', undefined, 'orders'],
])('The lines to paste push to what a consumer works: %s.', (_, matchers, queue) => {
  expect(queuesIn(linesFor(matchers))).toEqual([queue, queue, queue])
})

test('They have no item that a consumer might fail on; without a consumer, they have one.', () => {
  expect(linesFor(['mails'])).toContain(`-d '{"item":ITEM}'\n  (for ITEM, write one that`)
  expect(linesFor(undefined)).toContain(`-d '{"item":{"order":17}}'\n  curl`)
})
