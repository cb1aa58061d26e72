// A CDK app with PushPop and a consumer, whose handler takes its time and writes down what it has done.

import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../../..')

export type WorkApp = {
  /** The file to give to `--app`. */
  readonly app: string
  /** When the handler was done with each item, by its text: each time. */
  handled(): ReadonlyMap<string, readonly number[]>
  /** From now on the handler's file throws so many times when it is loaded, and then no more. */
  breakStarts(times: number): void
}

export function writeWorkApp(folder: string): WorkApp {
  mkdirSync(folder, { recursive: true })
  // Beside the project: the app is synthesised again when a file in it changes.
  const journal = `${folder}.journal`
  const broken = `${folder}.broken`
  const path = (name: string) => JSON.stringify(join(root, name))
  writeFileSync(join(folder, 'package.json'), '{}')
  writeFileSync(
    join(folder, 'handler.ts'),
    `import { appendFileSync, existsSync, readFileSync, truncateSync, statSync } from 'node:fs'
     import { consumer } from ${path('lambdas/consumer/index.ts')}

     const broken = ${JSON.stringify(broken)}
     // A byte for each start that is to fail.
     const left = existsSync(broken) ? statSync(broken).size : 0
     if (left > 0) {
       truncateSync(broken, left - 1)
       throw new Error('a bug')
     }
     export const handler = consumer<{ takesMs: number }>(async (items) => {
       for (const item of items) {
         await new Promise((resolve) => setTimeout(resolve, item.value.takesMs))
         appendFileSync(${JSON.stringify(journal)}, Date.now() + ' ' + item.text + '\\n')
       }
     })`,
  )
  writeFileSync(
    join(folder, 'app.ts'),
    `import { App } from ${path('node_modules/aws-cdk-lib/core/index.js')}
     import { PushPopConsumer } from ${path('lib/constructs/push-pop-consumer.ts')}
     import { PushPopStack } from ${path('lib/pushpop-stack.ts')}

     const app = new App()
     const stack = new PushPopStack(app, 'Ends', {
       service: { throwaway: true, alarms: false, dashboard: false },
     })
     new PushPopConsumer(stack, 'Work', {
       service: stack.service,
       queues: { prefix: 'work' },
       function: import.meta.dirname + '/handler.ts',
       batchSize: 2,
     })
     app.synth()`,
  )
  return {
    app: join(folder, 'app.ts'),
    handled() {
      const lines = existsSync(journal) ? readFileSync(journal, 'utf8').split('\n') : []
      const times = new Map<string, number[]>()
      for (const line of lines) {
        const [, ms, text = ''] = /^(\d+) (.*)$/.exec(line) ?? []
        if (ms !== undefined) times.set(text, [...(times.get(text) ?? []), Number(ms)])
      }
      return times
    },
    breakStarts: (times) => appendFileSync(broken, 'x'.repeat(times)),
  }
}
