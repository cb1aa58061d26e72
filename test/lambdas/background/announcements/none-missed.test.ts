// Real writes of the engine, through a stream and a bus that fail in every way they can.
//
// PUSHPOP_SEED repeats a run, PUSHPOP_TRANSITIONS makes it longer, as the nightly run does.

import type { DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { expect, test } from 'vitest'
import { announceBatch } from '../../../../lambdas/background/announce.ts'
import { detailTypes } from '../../../../lambdas/runtime/names.ts'
import { compilePattern } from '../../../../local/events/event-language.ts'
import { seeded } from '../../../../testing/random.ts'
import { synthesised } from '../../../lib/synthesised.ts'
import { ABus, aRun, type Trouble } from './a-bus.ts'
import { deliverAll } from './a-stream.ts'
import { expectDocumented } from './event-schemas.ts'
import { streamRecord } from './stream-record.ts'
import { someTraffic } from './traffic.ts'

const seed = Number(process.env.PUSHPOP_SEED ?? Math.floor(Math.random() * 1e6))
const transitionsMin = Number(process.env.PUSHPOP_TRANSITIONS ?? 3_000)

/** By what the deployed mapping lets through. */
const mapping = synthesised().resources.EventsStream?.Properties
const patterns = (mapping.FilterCriteria.Filters as readonly { Pattern: string }[]).map(
  ({ Pattern }) => compilePattern(JSON.parse(Pattern)),
)
const isWanted = (record: DynamoDBRecord): boolean => patterns.some((fits) => fits(record))

const announce = (bus: ABus, records: readonly DynamoDBRecord[], remainingMs = () => 60_000) =>
  announceBatch(bus, 'PushPop', { Records: records } as DynamoDBStreamEvent, aRun(remainingMs))

/** Lines as the item-by-item comparison writes them, of an event. */
function lineOf(detailType: string, detail: Record<string, unknown>): string {
  const kind = Object.entries(detailTypes).find(([, name]) => name === detailType)?.[0] ?? ''
  if (kind === 'lock-expired') return `${kind} ${detail.items}`
  if (kind !== 'item-dead-lettered') return kind
  return `${kind} ${detail.priority} ${detail.reason} ${detail.items}`
}

/** Half of all calls go well; the rest refuse entries, or lose the request or the answer. */
function troubles(random: () => number): Trouble {
  return () => {
    const chance = random()
    if (chance < 0.5) return undefined
    if (chance < 0.6) return { throws: new Error('socket hang up'), taken: true }
    if (chance < 0.7) return { throws: new Error('timed out') }
    if (chance < 0.75) return { refused: () => 'ThrottlingException' }
    return { refused: () => (random() < 0.4 ? 'InternalFailure' : undefined) }
  }
}

const LOCK_ID_CHARACTERS = 11

/** Everything in it that could be a lock id, also as a part of something longer. */
function wordsOf(text: string): string[] {
  return [...text.matchAll(/[\w-]+/g)].flatMap(([run]) =>
    Array.from({ length: Math.max(0, run.length - LOCK_ID_CHARACTERS + 1) }, (_, at) =>
      run.slice(at, at + LOCK_ID_CHARACTERS),
    ),
  )
}

test(`no transition of ${transitionsMin} is missed, with faults of stream and bus (seed ${seed})`, async () => {
  const { writes, transitions, payload, lockIds } = await someTraffic(seed, transitionsMin)
  for (const lockId of lockIds) expect(lockId).toHaveLength(LOCK_ID_CHARACTERS)
  const records = writes.map(({ before, after, atMs }, index) =>
    streamRecord(index + 1, before as never, after as never, atMs),
  )

  // What should come, write by write and without the filter: by looking at each item.
  const expected = new Map<string, string>()
  for (const [index, record] of records.entries()) {
    const bus = new ABus()
    await announce(bus, [record])
    const lines = bus.taken.map(({ DetailType, Detail }) => lineOf(DetailType, JSON.parse(Detail)))
    expect(lines.sort()).toEqual(writes[index]?.transitions)
    for (const { Detail } of bus.taken) expected.set(JSON.parse(Detail).id, Detail)
  }
  expect(expected.size).toBe(transitions)

  const random = seeded(seed)
  const bus = new ABus()
  bus.trouble = troubles(random)
  const wanted = records.filter(isWanted)
  // A queue is always in the same lane.
  const lanes = [0, 1, 2, 3].map((lane) =>
    wanted.filter(({ dynamodb }) => (dynamodb?.Keys?.pk?.S?.length ?? 0) % 4 === lane),
  )
  const counts = await deliverAll(lanes, {
    random,
    async deliver(batch) {
      // Killed in the middle; out of time; answered and not heard.
      const kind = random()
      const { answer } = await announce(
        bus,
        kind < 0.05 ? batch.slice(0, batch.length / 2) : batch,
        kind < 0.1 ? () => (random() < 0.5 ? 1_000 : 60_000) : undefined,
      )
      if (kind < 0.05 || kind > 0.95) throw new Error('the function ended')
      return answer
    },
  })

  const seen = new Map<string, number>()
  for (const { DetailType, Detail } of bus.taken) {
    const { id } = JSON.parse(Detail)
    // A repetition is the same to the letter, and nothing is made up.
    expect(Detail).toBe(expected.get(id))
    seen.set(id, (seen.get(id) ?? 0) + 1)
    if (seen.get(id) === 1) expectDocumented(DetailType, JSON.parse(Detail))
  }
  const missed = [...expected].filter(([id]) => !seen.has(id)).map(([, detail]) => detail)
  expect(missed).toEqual([])

  const all = bus.taken.map((entry) => JSON.stringify(entry)).join('\n')
  expect(all).not.toContain(payload)
  expect(wordsOf(all).filter((word) => lockIds.has(word))).toEqual([])

  // It was no walk in the park.
  const repeated = [...seen.values()].filter((times) => times > 1).length
  expect(repeated).toBeGreaterThan(expected.size / 10)
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0)
  const kinds = Map.groupBy(expected.values(), (detail) => Object.keys(JSON.parse(detail)).join())
  expect(kinds.size).toBeGreaterThanOrEqual(3)
  console.log(
    `${writes.length} writes, ${wanted.length} let through, ${transitions} transitions, ` +
      `${bus.taken.length} events put, ${repeated} more than once, ${JSON.stringify(counts)}`,
  )
}, 600_000)
