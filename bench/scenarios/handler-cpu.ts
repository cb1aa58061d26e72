// What a handler computes on top of the engine: a push by an event of the gateway, against the same
// push by the engine alone. In turns, each to a queue of its own, on one document client.

import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { DocumentPort } from '../../lambdas/foundation/dynamo.ts'
import type { ObjectPort } from '../../lambdas/foundation/objects.ts'
import { pushEndpoints } from '../../lambdas/http/endpoints/push.ts'
import { httpHandler } from '../../lambdas/http/stack.ts'
import { createLog } from '../../lambdas/runtime/log.ts'
import { createQueuesOn } from '../../lambdas/runtime/services.ts'
import { bucketName, type Scenario, tableName } from '../bench.ts'
import { openQueues } from '../engine.ts'
import { createItems } from '../items.ts'
import type { Sender } from '../metering/commands.ts'
import { cpuMs } from '../metering/cpu.ts'
import { atMost, rowsOf } from '../rows.ts'

const BLOCK = 40

export const handlerCpu: Scenario = {
  name: 'handler-cpu',
  title: 'CPU of a push by HTTP',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const documents = DynamoDBDocumentClient.from(bench.embedded.dynamodb)
    const { s3 } = bench.embedded
    const log = createLog({ level: 'info', service: 'bench', write: () => {} })
    const environment = { PUSHPOP_TABLE: tableName, PUSHPOP_BUCKET: bucketName }
    const behindHttp = createQueuesOn(
      environment,
      log,
      documents as unknown as DocumentPort,
      async () => s3 as unknown as ObjectPort,
    )
    const handler = httpHandler('Push', log, pushEndpoints(behindHttp))
    const engine = openQueues({
      tableName,
      bucketName,
      dynamodb: documents as unknown as Sender,
      s3: s3 as unknown as Sender,
    })
    const item = createItems(12)
    const [byHandler, byEngine] = [bench.queueName('handler'), bench.queueName('engine')]
    const pushByHandler = async () => {
      const { statusCode, body } = await handler(pushEvent(byHandler, item(200)), {
        awsRequestId: 'bench',
      })
      if (statusCode !== 200) throw new Error(`A push was answered ${statusCode}: ${body}`)
    }
    const pushByEngine = () => engine.push(byEngine, { items: [{ text: item(200) }] })

    const blocks = bench.quick ? 20 : 100
    const warmUpBlocks = blocks / 2
    let [handlerMs, engineMs] = [0, 0]
    for (let block = 0; block < warmUpBlocks + blocks; block += 1) {
      if (block % 10 === 0) bench.progress(`block ${block} of ${warmUpBlocks + blocks}`)
      // The second one finds the caches warm, so they take turns.
      const first = block % 2 === 0 ? pushByHandler : pushByEngine
      const firstMs = await blockMs(first)
      const secondMs = await blockMs(first === pushByHandler ? pushByEngine : pushByHandler)
      if (block < warmUpBlocks) continue
      handlerMs += first === pushByHandler ? firstMs : secondMs
      engineMs += first === pushByHandler ? secondMs : firstMs
    }
    return [
      bar('handler: times the engine alone', handlerMs / engineMs, atMost(1.3)),
      info('handler and engine, ms a push', handlerMs / blocks / BLOCK),
      info('engine alone, ms a push', engineMs / blocks / BLOCK),
    ]
  },
}

const blockMs = (push: () => Promise<unknown>): Promise<number> =>
  cpuMs(async () => {
    for (let i = 0; i < BLOCK; i += 1) await push()
  })

/** As the gateway sends it, a handful of headers and all. */
const pushEvent = (queue: string, text: string) => ({
  version: '2.0',
  routeKey: 'POST /queue/{id}/push',
  rawPath: `/queue/${queue}/push`,
  rawQueryString: '',
  headers: {
    accept: '*/*',
    'content-length': String(text.length + 10),
    'content-type': 'application/json',
    host: 'abcdefghij.execute-api.us-east-1.amazonaws.com',
    'user-agent': 'curl/8.5.0',
    'x-amzn-trace-id': 'Root=1-691c2a35-2b8a3a4d5e6f708192a3b4c5',
    'x-forwarded-for': '203.0.113.7',
    'x-forwarded-port': '443',
    'x-forwarded-proto': 'https',
  },
  requestContext: {
    accountId: '123456789012',
    apiId: 'abcdefghij',
    domainName: 'abcdefghij.execute-api.us-east-1.amazonaws.com',
    domainPrefix: 'abcdefghij',
    http: {
      method: 'POST',
      path: `/queue/${queue}/push`,
      protocol: 'HTTP/1.1',
      sourceIp: '203.0.113.7',
      userAgent: 'curl/8.5.0',
    },
    requestId: 'UIxR9h8sIAMEVWg=',
    routeKey: 'POST /queue/{id}/push',
    stage: '$default',
    time: '18/Nov/2026:07:00:00 +0000',
    timeEpoch: 1_795_000_000_000,
  },
  pathParameters: { id: queue },
  body: `{"item": ${text}}`,
  isBase64Encoded: false,
})
