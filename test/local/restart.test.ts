// A stack that is stopped while items wait, and comes back to its data: its consumer is called for them,
// though no push follows. The handler could not be started before; now it can.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { type LocalStack, startLocalStack } from '../../local/start-local-stack.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from './a-stack.ts'

const folder = temporaryFolder('restart')
const directory = join(folder, 'data')
const root = join(import.meta.dirname, '../..')

/** What the consumer's file says: a first line that throws is a bug that nobody has mended yet. */
function write(handler: string): void {
  const consumer = JSON.stringify(join(root, 'lambdas/consumer/index.ts'))
  const source = `import { consumer } from ${consumer}\n${handler}\n`
  writeFileSync(join(folder, 'handler.ts'), source)
}

writeFileSync(
  join(folder, 'app.ts'),
  `import { App } from ${JSON.stringify(join(root, 'node_modules/aws-cdk-lib/core/index.js'))}
   import { PushPopConsumer } from ${JSON.stringify(join(root, 'lib/constructs/push-pop-consumer.ts'))}
   import { PushPopStack } from ${JSON.stringify(join(root, 'lib/pushpop-stack.ts'))}
   const app = new App()
   const stack = new PushPopStack(app, 'Restarted', {
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

it('Items that wait are announced when the stack comes back to its data.', async () => {
  const dropped: string[] = []
  const handled: string[] = []
  const start = () =>
    startLocalStack({
      port: 0,
      app: join(folder, 'app.ts'),
      directory,
      listeners: {
        onNotice: (sentence) => dropped.push(sentence),
        onOutput: ({ text }) => {
          if (text.startsWith('handled ')) handled.push(text.trim())
        },
      },
    })
  write(`throw new Error('a bug')\nexport const handler = consumer(async () => {})`)
  stack = await start()
  const pushed = await fetch(`${stack.url}/queue/orders/push`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"items": [{"item": 1}, {"item": 2}]}',
  })
  expect(pushed.status).toBe(200)
  // Three times, and then nobody calls it any more.
  await until(() => dropped.some((sentence) => sentence.includes('Work')))
  await stack.stop()
  expect(handled).toEqual([])
  // It made this folder; git is to leave it out.
  expect(readFileSync(join(directory, '.gitignore'), 'utf8')).toBe('*\n')

  write(`export const handler = consumer(async ([item]) => {
    process.stdout.write('handled ' + item?.text + '\\n')
  })`)
  stack = await start()
  await until(() => handled.length === 2)
  expect(handled).toEqual(['handled 1', 'handled 2'])
}, 120_000)
