import { describe, expect, test } from 'vitest'
import { snapshotOf, stats } from '../../cli/commands/stats.ts'
import type { State, Target } from '../../cli/target/target.ts'
import { QueueError } from '../../shared/errors.ts'

const away = new QueueError('SEGMENT_UNAVAILABLE', 'S3 does not return its first segment')

/** So many queues, of which some cannot be read. */
function targetOf(count: number, isUnread: (n: number) => boolean) {
  let asked = 0
  const target = {
    async *queues() {
      for (let n = 0; n < count; n += 1) yield { queue: `q${n}`, count: n }
    },
    async inspect(queue: string) {
      asked += 1
      if (isUnread(Number(queue.slice(1)))) throw away
      return {
        queue,
        count: 1,
        lockedCount: 0,
        deadCount: 0,
        scheduledCount: 0,
        lanes: [],
        locks: [],
      }
    },
  }
  return { target: target as unknown as Target, asked: () => asked }
}

const idsOf = (states: readonly State[]) => states.map(({ queue }) => queue)
const all = { queues: [], prefix: undefined, limit: 50 }

describe('The state of many queues', () => {
  test.each([undefined, 'count', 'oldest'] as const)(
    'leaves out those that cannot be read and names them, sorted by %s.',
    async (sort) => {
      const { target } = targetOf(4, (n) => n === 1)
      const { states, unread } = await snapshotOf(target, { ...all, sort })
      expect(idsOf(states).sort()).toEqual(['q0', 'q2', 'q3'])
      expect(unread).toEqual([{ queue: 'q1', error: away }])
    },
  )

  test('is an error if none can be read, and asks for no more after the first of them.', async () => {
    const { target, asked } = targetOf(50, () => true)
    await expect(snapshotOf(target, all)).rejects.toBe(away)
    expect(asked()).toBe(8)
  })

  test('is an error if the store goes away in the middle.', async () => {
    const { target, asked } = targetOf(50, (n) => n >= 8)
    await expect(snapshotOf(target, all)).rejects.toBe(away)
    expect(asked()).toBe(16)
  })
})

describe('stats', () => {
  const run = async (isJson: boolean) => {
    const { target } = targetOf(3, (n) => n === 1)
    const [printed, told]: [string[], string[]] = [[], []]
    const plain = (_: unknown, text: string) => text
    const code = await stats.run({
      given: {},
      words: [],
      isJson,
      io: { stdout: { isTTY: false } },
      interrupt: new AbortController().signal,
      print: async (line: string) => void printed.push(line),
      tell: (line: string) => void told.push(line),
      paint: plain,
      paintOut: plain,
      target: async () => target,
    } as never)
    return { code, printed, told }
  }

  test('shows the others if one queue cannot be read, and ends with 1.', async () => {
    const { code, printed, told } = await run(false)
    expect(printed.slice(1).map((line) => line.split(' ')[0])).toEqual(['q0', 'q2'])
    expect(told).toEqual(['q1: S3 does not return its first segment'])
    expect(code).toBe(1)
  })

  test('names it in its JSON.', async () => {
    const { code, printed } = await run(true)
    const failed = [{ queue: 'q1', error_code: 'SEGMENT_UNAVAILABLE', message: away.message }]
    expect(JSON.parse(printed[0] ?? '')).toMatchObject({ queues: [{}, {}], failed })
    expect(code).toBe(1)
  })
})
