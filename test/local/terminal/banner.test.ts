import { expect, test } from 'vitest'
import { planStack } from '../../../local/template/plan.ts'
import { banner } from '../../../local/terminal/output.ts'

const service = {
  name: 'Api',
  id: 'api',
  routes: [{ key: 'POST /queue/{id}/push', functionArn: 'arn', timeoutMs: 1_000 }],
}

const textOf = (settings: Partial<Parameters<typeof banner>[0]>): string =>
  banner(
    {
      url: 'http://localhost:8000',
      urls: {},
      plan: planStack([]),
      seconds: 1,
      typed: 'pushpop start',
      elsewhere: {},
      ...settings,
    },
    (_, shown) => shown,
  )

/** The lines to paste, of an app with a consumer of these queues. */
function linesFor(matchers: readonly unknown[] | undefined): string {
  const pattern = matchers === undefined ? { source: ['shop'] } : { detail: { queue: matchers } }
  const plan = {
    ...planStack([]),
    apis: [service],
    eventRules: [{ id: 'Rule', busName: 'bus', pattern, targets: [] }],
  }
  return textOf({ plan })
}

const queuesIn = (text: string): readonly string[] =>
  [...text.matchAll(/^ {2}curl .*\/queue\/([^/\s]+)/gm)].map(([, queue = '']) => queue)

test.each([
  ['one queue', ['mails'], 'mails'],
  ['a prefix', [{ prefix: 'device.' }], 'device.1'],
  ['a pattern', [{ wildcard: 'tenant-*-mails' }], 'orders'],
  ['none', undefined, 'orders'],
])('The lines to paste push to what a consumer works: %s.', (_, matchers, queue) => {
  const isWorked = queue !== 'orders'
  expect(queuesIn(linesFor(matchers))).toEqual(Array(isWorked ? 2 : 3).fill(queue))
  expect(linesFor(matchers).includes('/pop')).toBe(!isWorked)
})

test('They have no item that a consumer might fail on; without a consumer, they have one.', () => {
  expect(linesFor(['mails'])).toContain(`-d '{"item":ITEM}'\n  (for ITEM, write one that`)
  expect(linesFor(undefined)).toContain(`-d '{"item":{"order":17}}'\n  curl`)
})

const [dynamodbEndpoint, s3Endpoint] = ['http://127.0.0.1:8001', 'http://127.0.0.1:9000']
const directory = '.pushpop'

test.each([
  [{}, 'Data is forgotten at the end.'],
  [{ directory }, 'Data is kept in .pushpop; pushpop start --memory forgets it.'],
  [
    { directory, elsewhere: { dynamodbEndpoint } },
    'Objects and messages are kept in .pushpop, the tables at http://127.0.0.1:8001 as long as they last there; they belong together.',
  ],
  [
    { directory, elsewhere: { dynamodbEndpoint, s3Endpoint } },
    'Messages are kept in .pushpop, the tables at http://127.0.0.1:8001 and the objects at http://127.0.0.1:9000 as long as they last there; they belong together.',
  ],
  [
    { directory, elsewhere: { s3Endpoint } },
    'Tables and messages are kept in .pushpop, the objects at http://127.0.0.1:9000 as long as they last there; they belong together.',
  ],
  [
    { elsewhere: { dynamodbEndpoint } },
    'Data is forgotten at the end: that includes the tables at http://127.0.0.1:8001.',
  ],
])('The banner says where the data is, and what becomes of it: %j.', (settings, line) => {
  expect(textOf(settings).split('\n')).toContain(line)
})
