// `npm start -- --watch`: what runs is what was written last, and a mistake stops nothing.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LocalStack, startLocalStack } from '../../local/start-local-stack.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from './a-stack.ts'

const folder = temporaryFolder('watch')
const root = join(import.meta.dirname, '../..')
const path = (name: string) => JSON.stringify(join(root, name))
const lines: string[] = []
const notices: string[] = []
let stack: LocalStack

const write = (name: string, text: string) => writeFileSync(join(folder, 'app', name), text)
const handler = (text: string) =>
  `import { consumer } from ${path('lambdas/consumer/index.ts')}
   import { word } from './word.ts'
   export const handler = consumer(async ([item]) => console.log('${text}', word, item?.text))`
const settings = (logLevel: string) =>
  `import { App } from ${path('node_modules/aws-cdk-lib/core/index.js')}
   import { PushPopConsumer } from ${path('lib/constructs/push-pop-consumer.ts')}
   import { PushPopStack } from ${path('lib/pushpop-stack.ts')}
   const app = new App()
   const stack = new PushPopStack(app, 'Watched', {
     service: { throwaway: true, alarms: false, dashboard: false, logLevel: '${logLevel}' },
   })
   new PushPopConsumer(stack, 'Work', {
     service: stack.service, queues: 'orders', function: import.meta.dirname + '/handler.ts',
   })
   app.synth()`

async function push(item: number): Promise<void> {
  const response = await fetch(`${stack.url}/queue/orders/push`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ item }),
  })
  expect(response.status).toBe(200)
}

const said = (part: string) => until(() => notices.some((notice) => notice.includes(part)))
const printed = (line: string) => until(() => lines.includes(line))

beforeAll(async () => {
  mkdirSync(join(folder, 'app'))
  write('package.json', '{}')
  write('app.ts', settings('info'))
  write('word.ts', "export const word = 'a'")
  write('handler.ts', handler('one'))
  stack = await startLocalStack({
    port: 0,
    app: join(folder, 'app/app.ts'),
    watch: true,
    environment: {},
    directory: join(folder, 'data'),
    listeners: {
      onOutput: ({ text }) => lines.push(text),
      onNotice: (sentence) => notices.push(sentence),
    },
  })
})
afterAll(() => stack.stop())

test('A handler that is written while the stack runs is run for the next item.', async () => {
  await push(1)
  await printed('one a 1')
  write('handler.ts', handler('two'))
  await said('Rebuilt WorkFunction from handler.ts')
  await push(2)
  await printed('two a 2')
})

test('So is a file that it imports, and a mistake in it is one sentence that stops nothing.', async () => {
  write('word.ts', 'export const word = = 1')
  await said('word.ts:1')
  expect(notices.at(-1)).toMatch(
    /^Cannot bundle \S*handler\.ts because .* \(\S*word\.ts:1\)\. WorkFunction goes on with the code from before\.$/,
  )
  await push(3)
  await printed('two a 3')
  notices.length = 0
  write('word.ts', "export const word = 'b'")
  await said('Rebuilt')
  await push(4)
  await printed('two b 4')
})

test('A handler that could not start gets what waited as soon as it is mended.', async () => {
  notices.length = 0
  write('handler.ts', `throw new Error('a bug')\n${handler('three')}`)
  await said('Rebuilt')
  await push(5)
  await said('about the queue "orders" was dropped because the function failed 3 times')
  write('handler.ts', handler('three'))
  await printed('three b 5')
})

test('A change of the app is synthesised, and its functions run by their new settings.', async () => {
  write('app.ts', settings('warn'))
  await said('Synthesised again: ')
  // Not always the last: a function that was replaced at work may have left a sentence too.
  const sentence = notices.find((notice) => notice.includes('Synthesised again: '))
  expect(sentence).toMatch(/\bPush\b.*WorkFunction|WorkFunction.*\bPush\b|\bPush\b/)
  await push(6)
  await printed('three b 6')
}, 120_000)

test("An error names the handler's own file and line.", async () => {
  notices.length = 0
  write('handler.ts', `${handler('four')}\n\nthrow new Error('here')`)
  await said('Rebuilt')
  await push(7)
  await until(() => lines.some((line) => /^Init Error .*here.*handler\.ts:5:/.test(line)))
  write('handler.ts', handler('four'))
  await printed('four b 7')
})
