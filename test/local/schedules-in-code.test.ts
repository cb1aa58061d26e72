import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createClient } from '../../client/index.ts'
import { startLocalStack } from '../../testing/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const app = join(import.meta.dirname, 'a-scheduled-app.ts')
const directory = temporaryFolder()

/** The app with this item, on the data that is there. Its schedule for the sweeper does not come in time. */
async function withApp(
  context: Readonly<Record<string, string>>,
  work: (reports: ReturnType<ReturnType<typeof createClient>['queue']>) => Promise<void>,
) {
  const stack = await startLocalStack({ port: 0, app, context, directory, scheduleSpeed: 0.001 })
  try {
    await work(createClient({ url: stack.url }).queue('reports'))
  } finally {
    await stack.stop()
  }
}

it('A schedule in code is there on this machine, changes with the app, and goes with it.', async () => {
  await withApp({ item: 'first' }, async ({ schedules, pop }) => {
    const found = async () => (await schedules.list())[0]
    await expect
      .poll(found, { timeout: 30_000 })
      .toMatchObject({ name: 'weekly', timeZone: 'Europe/Berlin', deployed: true })
    await schedules.run('weekly')
    expect(await pop()).toMatchObject({ items: [{ value: 'first' }] })
    await schedules.pause('weekly')
  })
  await withApp({ item: 'second' }, async ({ schedules }) => {
    const found = () => schedules.get('weekly')
    await expect.poll(found, { timeout: 30_000 }).toMatchObject({ item: 'second', paused: true })
  })
  await withApp({}, async ({ schedules }) => {
    await expect.poll(() => schedules.list(), { timeout: 30_000 }).toEqual([])
  })
})
