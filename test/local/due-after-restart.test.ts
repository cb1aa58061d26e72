// A stack that ends while Wake waits for something, and comes back to its data: what comes due is there in time,
// though nobody calls, and the minute of the sweep's schedule never comes.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { createClient } from '../../client/index.ts'
import { type LocalStack, startLocalStack } from '../../local/start-local-stack.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from './a-stack.ts'

const folder = temporaryFolder('due')
const directory = join(folder, 'data')
const root = join(import.meta.dirname, '../..')
const from = (path: string) => JSON.stringify(join(root, path))

writeFileSync(
  join(folder, 'handler.ts'),
  `import { consumer } from ${from('lambdas/consumer/index.ts')}
   export const handler = consumer(async (items) => {
     for (const item of items) process.stdout.write('handled ' + item.text + '\\n')
   })
  `,
)
writeFileSync(
  join(folder, 'app.ts'),
  `import { App } from ${from('node_modules/aws-cdk-lib/core/index.js')}
   import { PushPopConsumer } from ${from('lib/constructs/push-pop-consumer.ts')}
   import { PushPopStack } from ${from('lib/pushpop-stack.ts')}
   const app = new App()
   const stack = new PushPopStack(app, 'Due', {
     service: { throwaway: true, alarms: false, dashboard: false },
   })
   new PushPopConsumer(stack, 'Work', {
     service: stack.service,
     queues: 'orders',
     function: { entry: ${JSON.stringify(join(folder, 'handler.ts'))} },
   })
   app.synth()
  `,
)

let stack: LocalStack | undefined
afterEach(() => stack?.stop())

it('Items that are due after a restart come in time, even without a call or a minute’s sweep.', async () => {
  const handled: string[] = []
  const start = () =>
    startLocalStack({
      port: 0,
      app: join(folder, 'app.ts'),
      directory,
      scheduleSpeed: 0.001,
      listeners: {
        onOutput: ({ text }) => {
          if (text.startsWith('handled ')) handled.push(text.trim())
        },
      },
    })
  stack = await start()
  const orders = createClient({ url: stack.url }).queue('orders')
  await orders.push('before', { delaySeconds: 1 })
  await orders.schedules.put('often', { everySeconds: 10, item: 'again' })
  // Wake is awake now, and for the schedule it stays so: its lease is not over when the stack comes back.
  await until(() => handled.includes('handled "before"'))
  await stack.stop()
  handled.length = 0

  stack = await start()
  // The first may be due when the sweep of the start comes. For the others somebody must be awake.
  await until(() => handled.length >= 3)
  expect(new Set(handled)).toEqual(new Set(['handled "again"']))
}, 90_000)
