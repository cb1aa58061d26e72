import { expect, test } from 'vitest'
import { overPrefix } from '../../cli/commands/many-items.ts'
import { PushPopError } from '../../client/index.ts'
import { QueueError } from '../../shared/errors.ts'
import { jsonLines } from './a-run.ts'

/** Works these queues; those whose names are errors fail with them. */
async function worked(
  queues: readonly string[],
  failures: Readonly<Record<string, Error>>,
  isJson = false,
) {
  const told: string[] = []
  const printed: string[] = []
  const context = {
    io: { stderr: { isTTY: false } } as never,
    isJson,
    interrupt: new AbortController().signal,
    print: async (line: string) => void printed.push(line),
    tell: (line: string) => void told.push(line),
    paint: (_: unknown, text: string) => text,
  }
  const code = await overPrefix(context, {
    prefix: 'q',
    label: 'Purging',
    nothing: 'no queue',
    queues: (async function* () {
      yield* queues
    })(),
    async work(queue) {
      const failure = failures[queue]
      if (failure !== undefined) throw failure
      return { itemsPurged: 2 }
    },
    lineOf: (queue, { itemsPurged }) => ({ queue, items_purged: itemsPurged }),
    itemsOf: ({ itemsPurged }) => itemsPurged,
    sentence: (items, some) => `Deleted ${items} of ${some}`,
  }).catch((error: unknown) => error)
  return { code, told, printed }
}

const busy = new QueueError('BUSY', 'Too many writers met')
const forbidden = new PushPopError('FORBIDDEN', 'These credentials do not allow this call')

test('A queue that fails is named with its reason, the others are done, and the exit code tells.', async () => {
  const { code, told } = await worked(['q1', 'q2', 'q3'], { q2: forbidden })
  expect(told).toEqual([
    'q2: These credentials do not allow this call',
    'Deleted 4 items of 2 queues; 1 queue failed.',
  ])
  expect(code).toBe(4)
})

test('A fault weighs more than a refusal in the exit code.', async () => {
  const { code } = await worked(['q1', 'q2'], { q1: forbidden, q2: busy })
  expect(code).toBe(1)
})

test('With --json, a failed queue gets a line with its error code.', async () => {
  const { printed, told } = await worked(['q1', 'q2'], { q2: busy }, true)
  expect(jsonLines(printed.join('\n'))).toEqual([
    { queue: 'q1', items_purged: 2 },
    expect.objectContaining({ queue: 'q2', success: false, error_code: 'BUSY' }),
  ])
  expect(told).toEqual([])
})

test('It stops when a hundred queues have failed, because all of them will.', async () => {
  const queues = Array.from({ length: 1_000 }, (_, n) => `q${n}`)
  const failures = Object.fromEntries(queues.map((queue) => [queue, forbidden]))
  const { code, told } = await worked(queues, failures)
  expect(told).toHaveLength(100)
  expect(code).toMatchObject({
    exitCode: 4,
    message:
      'Stopped because so many queues failed. Deleted 0 items of 0 queues; 100 queues failed.',
  })
})
