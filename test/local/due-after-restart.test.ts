// A stack that ends while Wake waits for something, and comes back to its data: what comes due is there in time,
// though nobody calls, and the minute of the sweep's schedule never comes.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { createClient } from '../../client/index.ts'
import { type LocalStack, startLocalStack } from '../../local/start-local-stack.ts'
import { writeWorkApp } from '../proofs/ends/an-app.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from './a-stack.ts'

const folder = temporaryFolder('due')
const directory = join(folder, 'data')
const { app, handled } = writeWorkApp(join(folder, 'app'))

let stack: LocalStack | undefined
afterEach(() => stack?.stop())

it('Items that are due after a restart come in time, even without a call or a minute’s sweep.', async () => {
  const start = () => startLocalStack({ port: 0, app, directory, scheduleSpeed: 0.001 })
  stack = await start()
  const { push, schedules } = createClient({ url: stack.url }).queue('work')
  await push({ is: 'before', takesMs: 0 }, { delaySeconds: 1 })
  await schedules.put('often', { everySeconds: 10, item: { is: 'again', takesMs: 0 } })
  const times = (is: string) => handled().get(JSON.stringify({ is, takesMs: 0 })) ?? []
  // Wake is awake now, and for the schedule it stays so: its lease is not over when the stack comes back.
  await until(() => times('before').length > 0)
  await stack.stop()
  // It made this folder; git is to leave it out.
  expect(readFileSync(join(directory, '.gitignore'), 'utf8')).toBe('*\n')
  const before = times('again').length

  stack = await start()
  // The first may be due when the sweep of the start comes. For the others somebody must be awake.
  await until(() => times('again').length >= before + 3)
  expect(times('before')).toHaveLength(1)
}, 90_000)
