import { expect, it } from 'vitest'
import { type EngineOnWire, openSimulated } from './stage.ts'
import { expectCode, named, pushOneByOne, textsOf, tidy } from './traffic.ts'

/**
 * Items that are somewhere else whenever they are looked for, because housekeeping moves them: more
 * often than would be a fault if the record had stayed as it was.
 */
const MOVES = 6

async function offloaded() {
  const stage = openSimulated()
  const [producer, queue] = [stage.engine(), 'queue']
  await producer.configure(queue, { segmentSize: 5 })
  await pushOneByOne(
    producer,
    queue,
    named('a', 60).map(({ text }) => ({ text: text.padEnd(200) })),
  )
  await tidy(producer, queue)
  return { stage, producer, queue }
}

/** Each of the first reads from S3 finds nothing; `moves` says whether the record has moved as well. */
function elusive(
  { stage, producer, queue }: Awaited<ReturnType<typeof offloaded>>,
  moves: boolean,
) {
  let gone = 0
  return stage.engine({
    before: async ({ name }) => {
      if (name !== 'GetObjectCommand' || gone === MOVES) return
      gone += 1
      if (moves) await producer.configure(queue, { bufferSegments: 1 + (gone % 2) })
      throw Object.assign(new Error('The specified key does not exist.'), { name: 'NoSuchKey' })
    },
  })
}

const reads: readonly [string, (queues: EngineOnWire, queue: string) => Promise<unknown>][] = [
  ['A pop', (queues, queue) => queues.pop(queue, { count: 40 })],
  ['A look', (queues, queue) => queues.browse(queue, { limit: 40 })],
  [
    'A claim',
    async (queues, queue) => {
      const request = { requireAck: true, competing: true, ttlSeconds: 60 }
      await queues.pop(queue, { ...request, ttlSeconds: 30 })
      return queues.pop(queue, { ...request, count: 40 })
    },
  ],
]

it.each(reads)('%s follows them as often as the record says where they went.', async (_, read) => {
  const scene = await offloaded()
  const answer = (await read(elusive(scene, true), scene.queue)) as { items: { text: string }[] }
  expect(answer.items).toHaveLength(40)
  const first = textsOf(answer.items as never)[0]
  expect(first?.trim()).toMatch(/^"a[01]"$/)
})

it.each(reads)(
  '%s says so when they are not where the record says all the time.',
  async (_, read) => {
    const scene = await offloaded()
    await expectCode(read(elusive(scene, false), scene.queue), 'SEGMENT_UNAVAILABLE')
  },
)
