import { describe, expect, it } from 'vitest'
import type { DocumentPort } from '../../../aws/dynamo.ts'
import type { ObjectPort } from '../../../aws/objects.ts'
import { decodeNote } from '../../../engine/core/repeated-pushes.ts'
import { createLog, Tally, withTally } from '../../../lambdas/runtime/log.ts'
import { createQueuesOn } from '../../../lambdas/runtime/services.ts'
import { createSimulatedClient } from '../../../testing/simulated/network.ts'
import { SimulatedStore } from '../../../testing/simulated/store.ts'

/** The services on a simulated store, whose requests can be looked at, and refused. */
function open({
  environment = {},
  refuse = () => undefined,
}: {
  environment?: Readonly<Record<string, string>>
  refuse?: (input: object) => Error | undefined
} = {}) {
  const store = new SimulatedStore({ nowMs: () => Date.now() })
  const { dynamodb, s3 } = createSimulatedClient(store)
  const lines: string[] = []
  const log = createLog({ level: 'info', service: 'x', write: (line) => lines.push(line) })
  let s3Made = 0
  const documents: DocumentPort = {
    async send(command: never) {
      const error = refuse((command as { input: object }).input)
      if (error !== undefined) throw error
      return dynamodb.send(command)
    },
  }
  const names = { PUSHPOP_TABLE: store.tableName, PUSHPOP_BUCKET: store.bucketName }
  const queues = createQueuesOn({ ...names, ...environment }, log, documents, async () => {
    s3Made += 1
    return s3 as unknown as ObjectPort
  })
  return { queues, store, lines, s3Made: () => s3Made }
}

describe('The services', () => {
  it('need a table and a bucket.', () => {
    const log = createLog({ level: 'info', service: 'x', write: () => {} })
    const none = {} as DocumentPort
    for (const [name, environment] of [
      ['PUSHPOP_TABLE', { PUSHPOP_BUCKET: 'b' }],
      ['PUSHPOP_BUCKET', { PUSHPOP_TABLE: 't' }],
    ] as const) {
      expect(() => createQueuesOn(environment, log, none, async () => none)).toThrow(name)
    }
  })

  it('remember an Idempotency-Key for a day, or for as long as configured.', async () => {
    for (const [environment, seconds] of [
      [{}, 86_400],
      [{ PUSHPOP_IDEMPOTENCY_TTL_SECONDS: '60' }, 60],
    ] as const) {
      const { queues, store } = open({ environment })
      await queues.push('a', { items: [{ text: '1' }], idempotencyKey: 'k' })
      const attributes = [...store.items()].flatMap((row) => Object.entries(row))
      const [, note] = attributes.find(([name]) => name.startsWith('.')) ?? []
      expect(decodeNote(String(note)).ttlSeconds).toBe(seconds)
    }
  })

  it('make no client of S3 until there is something for it.', async () => {
    const { queues, s3Made } = open()
    await queues.push('a', { items: [{ text: '1' }] })
    await queues.pop('a')
    await queues.inspect('a')
    expect(s3Made()).toBe(0)
    const noise = Array.from({ length: 3_000 }, (_, i) => (Math.sin(i) * 1e9).toString(36)).join('')
    await queues.push('a', { items: [{ text: `"${noise}"` }] })
    expect(s3Made()).toBeGreaterThan(0)
  })

  it('count and log work that no answer waits for, and that failed.', async () => {
    const isChunk = (input: object) => JSON.stringify(input).includes('"s#a#')
    const { queues, lines } = open({
      refuse: (input) => (isChunk(input) ? new Error('no rows today') : undefined),
    })
    const tally = new Tally()
    const text = JSON.stringify('x'.repeat(300))
    await withTally(tally, async () => {
      for (let i = 0; i < 12; i += 1) await queues.push('a', { items: [{ text }] })
    })
    expect(tally.backgroundFailures).toBeGreaterThan(0)
    expect(JSON.parse(lines[0] ?? '{}')).toMatchObject({
      level: 'warn',
      message: 'background work failed',
      queue: 'a',
      step: 'seal',
      error: { message: expect.any(String) },
    })
    expect(lines.join('')).not.toContain('xxx')
  })
})
