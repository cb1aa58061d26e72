import type { SQSRecord } from 'aws-lambda'
import { createQueues, type Queues } from '../../../lambdas/engine/queues.ts'
import { isDeadLetterQueue, isQueueId } from '../../../lambdas/foundation/queue-id.ts'
import { applyBatch } from '../../../lambdas/inbox/apply-batch.ts'
import { inboxOn } from '../../../lambdas/inbox/send.ts'
import type { ApplyPort } from '../../../lambdas/inbox/sqs.ts'
import { createLog } from '../../../lambdas/runtime/log.ts'
import { Tally } from '../../../lambdas/runtime/tally.ts'
import { seeded } from '../../../testing/random.ts'
import { requestTimeout, throttling } from '../../../testing/simulated/faults.ts'
import {
  createSimulatedClient,
  type Network,
  perfectNetwork,
} from '../../../testing/simulated/simulated-client.ts'
import { SimulatedStore } from '../../../testing/simulated/simulated-store.ts'
import { createVirtualTime } from '../../../testing/simulated/virtual-time.ts'
import { brokenPromises, expectedOf, laneOf, type Sent, textOf } from './expect.ts'
import { faultyNetwork } from './faulty-network.ts'
import { checkSharedKeys, keyOf, withoutTexts } from './shared-keys.ts'
import { Sqs } from './sqs.ts'

export type Size = { readonly queues: number; readonly messages: number }

export type SeedResult = {
  readonly violations: readonly string[]
  readonly messages: number
  readonly batches: number
  readonly deaths: number
  readonly redelivered: number
}

/** Of Lambda: five batches at once, each within 30 seconds. */
const ENVIRONMENTS = 5
const BATCH_MS = 30_000
const MINUTE_MS = 60_000
const NAMES = { tableName: 'simulated', bucketName: 'simulated' }
/** Long after every message has been tried again, and before a key is forgotten. */
const END_MS = 20 * 3_600_000
const DAY_MS = 86_400_000
/** Below what the largest messages bring. */
const CAPACITY = 30

/**
 * Producers, functions that apply the inbox and die, a table that refuses everything for minutes, and
 * consumers, from one seed; then everything that SQS accepted must be in its queue once, in its order.
 */
export async function runSeed(
  seed: number,
  { queues: count, messages }: Size,
): Promise<SeedResult> {
  const random = seeded(seed)
  const pick = (most: number): number => Math.floor(random() * most)
  const time = createVirtualTime(Date.UTC(2030, 0, 1))
  const startMs = time.nowMs()
  // In whole milliseconds, as a machine's clock has them.
  const nowMs = () => Math.floor(time.nowMs())
  const clock = { nowMs, sleep: (ms: number) => time.sleep(ms) }
  const store = new SimulatedStore({ ...NAMES, nowMs })
  const sqs = new Sqs(nowMs, seeded(seed + 1))
  // One of them is for the dead letters of a queue that nobody uses.
  const ids = [...Array.from({ length: count }, (_, index) => `q${index}`), 'x-deadletter']
  const capacities = new Map(ids.filter(() => random() < 0.3).map((id) => [id, CAPACITY]))
  const tally = { batches: 0, deaths: 0, redelivered: 0 }
  const received = new Map<string, SQSRecord>()
  const throttledFromMs = startMs + pick(10) * MINUTE_MS
  const throttledToMs = throttledFromMs + (1 + pick(9)) * MINUTE_MS
  const faults = { lost: 0.01 * random(), answerLost: 0.03 * random(), late: 0.03 * random() }
  const isThrottled = () => nowMs() >= throttledFromMs && nowMs() < throttledToMs

  const engineOn = (network: Network): Queues => {
    const { dynamodb, s3 } = createSimulatedClient(store, network)
    const options = { ...NAMES, clock, random: seeded(pick(2 ** 31)), onBackgroundError() {} }
    return createQueues({ ...options, dynamodb: dynamodb as never, s3: s3 as never })
  }

  // Producers.
  const account: Sent[] = []
  const plain: Sent[] = []
  let isSqsBusy = false
  const inboxFor = (one: Sent) =>
    inboxOn(
      {
        async send(message) {
          await time.sleep(5 * random())
          const fate = random()
          if (isSqsBusy && fate < 0.8) throw throttling()
          if (fate < 0.03) throw requestTimeout()
          const sent = sqs.send(message, one)
          if (fate < 0.06) throw requestTimeout()
          return sent
        },
      },
      { clock, random },
    )
  const keyed: { queue: string; key: string; items: { text: string; priority: number }[] }[] = []
  let made = 0
  const itemsOf = (many: number) =>
    Array.from({ length: many }, () => {
      made += 1
      return { text: JSON.stringify({ n: made, fill: 'x'.repeat(pick(200)) }), priority: pick(2) }
    })
  const produce = async (): Promise<void> => {
    const queue = ids[pick(ids.length)] as string
    isSqsBusy = random() < 0.05
    const fate = random()
    const request = { items: itemsOf(fate < 0.02 ? 40 : 1 + pick(3)) }
    const send = async (id: string, push: typeof request & { idempotencyKey?: string }) => {
      const one: Sent = { queue: id, ...push }
      account.push(one)
      one.answer = await inboxFor(one)
        .send(id, push)
        .then(
          () => 'accepted',
          ({ outcome }) => (outcome === 'unknown' ? 'unknown' : 'refused'),
        )
    }
    if (fate < 0.8) return void (await send(queue, request))
    if (fate < 0.9) {
      const key = `k${made}`
      keyed.push({ queue, key, items: request.items })
      return void (await send(queue, { ...request, idempotencyKey: key }))
    }
    const earlier = keyed[pick(keyed.length)]
    if (fate < 0.94 && earlier !== undefined) {
      const { queue, key, items } = earlier
      if (random() < 0.5 && !capacities.has(queue) && !isDeadLetterQueue(queue)) {
        const one: Sent = { queue, items, idempotencyKey: key }
        plain.push(one)
        const pushed = well.push(queue, { items, idempotencyKey: key })
        one.answer = await pushed.then(
          () => 'pushed',
          () => 'refused',
        )
        return
      }
      return void (await send(queue, { items, idempotencyKey: key }))
    }
    if (fate < 0.96 && earlier !== undefined) {
      return void (await send(earlier.queue, { ...request, idempotencyKey: earlier.key }))
    }
    const body = fate < 0.98 ? `{"itme":${++made}}` : `not JSON ${++made}`
    const group = fate < 0.99 ? queue : `no!queue!${pick(3)}`
    const text = body.startsWith('{') || group !== queue ? body : JSON.stringify(body)
    sqs.send({ queue: group, body }, { queue: group, items: [{ text }], isNoPush: true })
  }
  let producersLeft = 4
  const producer = async (): Promise<void> => {
    for (let sent = 0; sent < messages / 4; sent += 1) {
      await produce()
      // In bursts, so that batches are full at times and of one message at others.
      if (random() < 0.1) await time.sleep(20_000 * random() * random())
    }
    producersLeft -= 1
  }

  // Functions that apply.
  const port: ApplyPort = {
    async delay(delayed) {
      if (random() < 0.05) throw requestTimeout()
      // SQS may refuse some of the entries.
      for (const { receiptHandle, seconds } of delayed) {
        if (random() < 0.1) continue
        sqs.changeVisibility(receiptHandle, seconds)
      }
    },
    async giveUp(message) {
      sqs.giveUp(message)
      if (random() < 0.1) throw requestTimeout()
    },
  }
  const log = createLog({ level: 'error', service: 'PushPop', write: () => {} })
  let isOver = false
  const environment = async (): Promise<void> => {
    let queues: Queues | undefined
    let died = (): void => {}
    while (!isOver) {
      const records = sqs.receive()
      if (records.length === 0) {
        await time.sleep(1_000)
        continue
      }
      tally.batches += 1
      for (const record of records) {
        if (received.has(record.messageId)) tally.redelivered += 1
        received.set(record.messageId, record)
      }
      queues ??= engineOn(
        faultyNetwork({
          time,
          random,
          faults,
          isThrottled,
          diesAt: random() < 0.4 ? 1 + pick(40) : 0,
          onDeath: () => died(),
        }),
      )
      const death = new Promise<undefined>((resolve) => {
        died = () => resolve(undefined)
      })
      const outcome = await Promise.race([batch(queues, records), death, time.sleep(BATCH_MS)])
      if (outcome === undefined) {
        tally.deaths += 1
        queues = undefined
        continue
      }
      const failed = new Set(outcome.map(({ itemIdentifier }) => itemIdentifier))
      if (random() < 0.03) continue
      for (const { messageId, receiptHandle } of records) {
        if (!failed.has(messageId)) sqs.delete(receiptHandle)
      }
      // Lambda ends environments when it likes.
      if (random() < 0.05) queues = undefined
    }
  }
  const batch = async (queues: Queues, records: SQSRecord[]) => {
    const endMs = nowMs() + BATCH_MS
    const run = { tally: new Tally(), log, remainingMs: () => endMs - nowMs() }
    const { answer } = await applyBatch(queues, port, { Records: records }, run, nowMs)
    return answer.batchItemFailures
  }

  // Consumers, over a network that always works, and the sweeper.
  const popped = new Map<string, string[]>()
  const dead = new Map<string, string[]>()
  const well = engineOn(perfectNetwork)
  const popAll = async (queue: string, to: Map<string, string[]>, keyOf: (p: number) => string) => {
    for (;;) {
      const outcome = await well.pop(queue, { count: 100, competing: true })
      if (outcome.kind !== 'items') return
      for (const { text, priority } of outcome.items) {
        const key = keyOf(priority)
        to.set(key, [...(to.get(key) ?? []), text])
      }
    }
  }
  const consumer = async (): Promise<void> => {
    while (!isOver) {
      await time.sleep(30_000 * random())
      const queue = ids[pick(ids.length)] as string
      await popAll(queue, popped, (priority) => laneOf(queue, priority))
    }
  }
  const sweeper = async (): Promise<void> => {
    while (!isOver) {
      await time.sleep(MINUTE_MS)
      await well.returnExpiredLocks()
    }
  }
  let isReady = false
  const prepare = async (): Promise<void> => {
    for (const [id, capacity] of capacities) {
      const pushLimit = random() < 0.5 ? { maxRequests: 5, windowMillis: 10_000 } : undefined
      await well.configure(id, { capacity, pushLimit })
    }
    isReady = true
  }
  const prepared = prepare()
  while (!isReady) await time.run(nowMs() + 1_000)
  await prepared
  const running = [
    ...Array.from({ length: 4 }, producer),
    ...Array.from({ length: ENVIRONMENTS }, environment),
    consumer(),
    sweeper(),
  ]
  for (const one of running)
    one.catch((error: unknown) => violations.push(String((error as Error).stack)))

  const violations: string[] = []
  for (let untilMs = startMs; untilMs < startMs + END_MS; untilMs += 5 * MINUTE_MS) {
    await time.run(untilMs)
    if (producersLeft === 0 && sqs.isEmpty && violations.length === 0) break
    if (violations.length > 0) break
  }
  if (!sqs.isEmpty) violations.push('The inbox is not empty')
  isOver = true
  // What comes late has come by then.
  await time.run(nowMs() + 5 * MINUTE_MS)
  let isDrained = false
  const drain = async (): Promise<void> => {
    for (const queue of ids) {
      await popAll(queue, popped, (priority) => laneOf(queue, priority))
      if (isDeadLetterQueue(queue)) continue
      await popAll(`${queue}-deadletter`, dead, (priority) => laneOf(queue, priority))
    }
    isDrained = true
  }
  /** The engine pauses by this time, too, so it has to go on. */
  const untilDrained = async (): Promise<void> => {
    isDrained = false
    drain().catch((error: unknown) => violations.push(String(error)))
    const lastMs = nowMs() + 60 * MINUTE_MS
    while (!isDrained && violations.length === 0 && nowMs() < lastMs) {
      await time.run(nowMs() + MINUTE_MS)
    }
    if (!isDrained) violations.push('The queues are not drained after an hour')
  }
  await untilDrained()
  // SQS may deliver any of them again as long as it keeps them: keys are forgotten by then, and queues must not be.
  for (const days of [2, 13]) {
    await time.run(startMs + days * DAY_MS)
    const repeat = async (): Promise<void> => {
      await well.returnExpiredLocks()
      for (const records of batchesOf([...received.values()])) await batch(well, records)
    }
    let isRepeated = false
    repeat().then(
      () => {
        isRepeated = true
      },
      (error: unknown) => violations.push(String(error)),
    )
    const lastMs = nowMs() + DAY_MS
    while (!isRepeated && violations.length === 0 && nowMs() < lastMs) {
      await time.run(nowMs() + MINUTE_MS)
    }
    if (!isRepeated)
      violations.push(`Messages that came again after ${days} days are not done with`)
    await untilDrained()
  }
  violations.push(...brokenPromises(account, sqs.accepted))
  violations.push(...checkSharedKeys(plain, sqs.accepted, popped, dead))
  violations.push(...compare(sqs, plain, capacities, popped, dead))
  return { violations, messages: sqs.accepted.length, ...tally }
}

/** As they came: ten of one queue at a time, in order. */
function batchesOf(records: readonly SQSRecord[]): SQSRecord[][] {
  const groups = Map.groupBy(records, ({ attributes }) => attributes.MessageGroupId ?? '')
  return [...groups].flatMap(([id, group]) => {
    if (!isQueueId(id)) return []
    const sorted = group.sort((a, b) => (numberOf(a) < numberOf(b) ? -1 : 1))
    return Array.from({ length: Math.ceil(sorted.length / 10) }, (_, n) =>
      sorted.slice(10 * n, 10 * n + 10),
    )
  })
}

const numberOf = ({ attributes }: SQSRecord): bigint => BigInt(attributes.SequenceNumber ?? 0)

function compare(
  sqs: Sqs,
  plain: readonly Sent[],
  capacities: ReadonlyMap<string, number>,
  popped: ReadonlyMap<string, readonly string[]>,
  dead: ReadonlyMap<string, readonly string[]>,
): string[] {
  const shared = new Set(plain.map(keyOf))
  const isShared = (one: Sent) => one.idempotencyKey !== undefined && shared.has(keyOf(one))
  const texts = new Set(
    [...plain, ...sqs.accepted.filter(isShared)].flatMap(({ items }) =>
      items.map(({ text }) => text),
    ),
  )
  const others = sqs.accepted.filter((one) => !isShared(one))
  const expected = expectedOf(others, capacities)
  const failures = new Set(sqs.takeFailures().map(textIn))
  return [
    ...differences('in', expected.pushed, withoutTexts(popped, texts)),
    ...differences('among the dead letters of', expected.dead, withoutTexts(dead, texts)),
    ...expected.givenUp.filter((body) => !failures.has(body)).map((body) => `${body} was not kept`),
    ...[...failures]
      .filter((body) => !expected.givenUp.includes(body))
      .map((it) => `${it} was given up`),
  ]
}

/** What was given up, as its sender wrote it: its items' texts, or what is no push as it is. */
function textIn(body: string): string {
  if (!body.startsWith('{"items":')) return body
  const items = JSON.parse(body).items as { item: unknown }[]
  return textOf({ items: items.map(({ item }) => ({ text: JSON.stringify(item) })) })
}

function differences(
  where: string,
  expected: ReadonlyMap<string, readonly string[]>,
  found: ReadonlyMap<string, readonly string[]>,
): string[] {
  return [...new Set([...expected.keys(), ...found.keys()])].flatMap((key) => {
    const [wanted, got] = [expected.get(key) ?? [], found.get(key) ?? []]
    const at = Array.from({ length: Math.max(wanted.length, got.length) }).findIndex(
      (_, index) => wanted[index] !== got[index],
    )
    if (at === -1) return []
    const counts = `${wanted.length} expected, ${got.length} found`
    return [`${where} ${key}, at ${at}: ${got[at]} in place of ${wanted[at]} (${counts})`]
  })
}
