// The CPU time of a handler on top of the engine: a push by an event of the gateway, compared with the same push by
// the engine alone. In turns, each to its own queue, on one document client.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { DocumentPort } from '../../aws/dynamo.ts'
import type { ObjectPort } from '../../aws/objects.ts'
import { pushEndpoints } from '../../lambdas/http/push.ts'
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

const example = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../events/push.json'), 'utf8'),
)

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

/** An event as the gateway sends it, with a handful of headers. */
const pushEvent = (queue: string, text: string) => ({
  ...example,
  rawPath: `/queue/${queue}/push`,
  headers: { ...example.headers, 'content-length': String(text.length + 10) },
  pathParameters: { id: queue },
  body: `{"item": ${text}}`,
})
