// A team's own API beside PushPop's: each on a port of its own, and each finds the other.

import { afterAll, expect, test } from 'vitest'
import type { RequestRecord } from '../../local/gateway/gateway.ts'
import { makeWorkplace } from './a-stack.ts'

const workplace = makeWorkplace()
afterAll(() => workplace.cleanUp())

/** An API with one route, which serves `functionId`. */
const anApi = (id: string, key: string, functionId: string) => ({
  [id]: { Type: 'AWS::ApiGatewayV2::Api', Properties: { ProtocolType: 'HTTP' } },
  [`${id}Integration`]: {
    Type: 'AWS::ApiGatewayV2::Integration',
    Properties: {
      ApiId: { Ref: id },
      IntegrationUri: { 'Fn::GetAtt': [functionId, 'Arn'] },
      PayloadFormatVersion: '2.0',
    },
  },
  [`${id}Route`]: {
    Type: 'AWS::ApiGatewayV2::Route',
    Properties: {
      ApiId: { Ref: id },
      RouteKey: key,
      Target: { 'Fn::Join': ['', ['integrations/', { Ref: `${id}Integration` }]] },
    },
  },
})

test('Several APIs are served, the service first, and a function finds another by its address.', async () => {
  const requests: RequestRecord[] = []
  const url = {
    'Fn::Join': ['', ['https://', { Ref: 'Queues' }, '.execute-api.us-east-1.amazonaws.com/queue']],
  }
  const stack = await workplace.start(
    {
      functions: {
        Shop: {
          code: `export const handler = async () =>
            (await fetch(process.env.URL + '/orders/push', { method: 'POST' })).text()`,
          properties: { Environment: { Variables: { URL: url } } },
        },
        Push: { code: "export const handler = async ({ rawPath }) => 'pushed by ' + rawPath" },
      },
      routes: { 'GET /shop': 'Shop' },
      resources: anApi('Queues', 'POST /queue/{id}/push', 'Push'),
    },
    { listeners: { onRequest: (one) => requests.push(one) } },
  )
  expect(stack.url).toBe(stack.urls.Queues)
  expect(Object.keys(stack.urls)).toEqual(['Queues', 'Api'])
  expect(await (await fetch(`${stack.urls.Api}/shop`)).text()).toBe('pushed by /queue/orders/push')
  expect((await fetch(`${stack.url}/shop`)).status).toBe(404)
  const port = Number(new URL(stack.urls.Api ?? '').port)
  expect(requests.map(({ path, otherPort }) => [path, otherPort])).toEqual([
    ['/queue/orders/push', undefined],
    ['/shop', port],
    ['/shop', undefined],
  ])
})
