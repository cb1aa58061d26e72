// A stack that comes back to its data: the locks of runs that ended with the stack before end, and nothing that could
// have a lock of its own begins before that is done.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeWorkplace, until, type Workplace, withJournal } from './a-stack.ts'
import { rule, type Shop } from './an-assembly.ts'

let workplace: Workplace
beforeEach(() => {
  workplace = makeWorkplace()
})
afterEach(() => workplace.cleanUp())

const shop = (): Shop => ({
  functions: {
    Work: {
      code: withJournal(
        workplace.directory,
        `export const handler = async (event) => write(event.by ?? 'schedule')`,
      ),
    },
    Serve: { code: 'export const handler = async () => "served"' },
    Sweep: {
      code: withJournal(
        workplace.directory,
        `export const handler = async (event) => {
          write(event)
          while (!exists('swept')) await new Promise((resolve) => setTimeout(resolve, 5))
        }`,
      ),
      metadata: {
        'pushpop:after-loss': { again: {} },
        'pushpop:after-restart': { again: { all: true } },
      },
    },
  },
  routes: { 'GET /serve': 'Serve' },
  resources: { Often: rule('Work', { ScheduleExpression: 'rate(1 minute)' }) },
})

test('Events wait until the locks of the stack before have ended; requests do not.', async () => {
  const first = await workplace.start(shop())
  await first.stop()
  expect(workplace.journal()).toEqual([])

  const second = await workplace.start(shop(), { scheduleSpeed: 3_000 })
  const called = second.invoke('Work', { by: 'hand' })
  expect(await (await fetch(`${second.url}/serve`)).text()).toBe('served')
  await until(() => workplace.journal().length === 1)
  await delay(300)
  expect(workplace.journal()).toEqual([{ again: { all: true } }])
  writeFileSync(join(workplace.directory, 'swept'), '')
  expect((await called).kind).toBe('answered')
  await until(() => workplace.journal().includes('schedule'))
})

test('A stop does not wait for them.', async () => {
  const first = await workplace.start(shop())
  await first.stop()
  const second = await workplace.start(shop(), { scheduleSpeed: 3_000 })
  const called = second.invoke('Work', { by: 'hand' })
  await until(() => workplace.journal().length === 1)
  await second.stop()
  expect(await called).toEqual({ kind: 'throttled' })
  expect(workplace.journal()).toEqual([{ again: { all: true } }])
})
