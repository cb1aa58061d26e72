import { afterAll, beforeAll, expect, it } from 'vitest'
import { EventBuses, startPutEventsServer } from '../../../local/events/event-bus.ts'
import type { LocalServer } from '../../../local/loopback.ts'
import { breakOff } from '../raw-request.ts'

const delivered: string[] = []
let server: LocalServer

beforeAll(async () => {
  const rules = [
    {
      id: 'All',
      busName: 'default',
      pattern: { source: ['till'] },
      targets: [{ functionArn: 'f' }],
    },
  ]
  const deliver = (_: unknown, input: string) => delivered.push(input)
  server = await startPutEventsServer(new EventBuses({ buses: ['default'], rules, deliver }))
})
afterAll(() => server.stop())

const headers = { 'x-amz-target': 'AWSEvents.PutEvents' }
const put = async (body: string) => {
  const response = await fetch(server.endpoint, { method: 'POST', headers, body })
  return { status: response.status, output: (await response.json()) as Record<string, unknown> }
}
const entry = { Source: 'till', DetailType: 'Paid', Detail: '{}' }

it('An event with a time that is none is refused, and the others of its request go on.', async () => {
  const entries = [
    { ...entry, Time: 1e300 },
    { ...entry, Time: 1_700_000_000 },
  ]
  const { status, output } = await put(JSON.stringify({ Entries: entries }))
  expect(status).toBe(200)
  expect(output).toMatchObject({
    FailedEntryCount: 1,
    Entries: [{ ErrorCode: 'InvalidArgument' }, {}],
  })
  expect(delivered.map((text) => JSON.parse(text).time)).toEqual(['2023-11-14T22:13:20Z'])
})

it('Events of more than 1 MiB are refused by their size.', async () => {
  const Detail = JSON.stringify({ text: 'x'.repeat(1_048_576) })
  const { status, output } = await put(JSON.stringify({ Entries: [{ ...entry, Detail }] }))
  expect(status).toBe(400)
  expect(output.message).toContain('1 MiB')
})

it('The buses go on when a function dies in the middle of its call.', async () => {
  await breakOff(server.endpoint, '/', headers)
  expect((await put('{}')).status).toBe(400)
})
