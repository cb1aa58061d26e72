import type { SQSRecord } from 'aws-lambda'
import type { InboxMessage, PushItem, Queues } from '../../../../engine/queues.ts'
import { applyBatch } from '../../../../lambdas/inbox/apply.ts'
import { inboxOn } from '../../../../lambdas/inbox/send.ts'
import { createLog, Tally } from '../../../../lambdas/runtime/log.ts'
import { deadLetterQueueOf } from '../../../../shared/bounds.ts'
import type { QueueError } from '../../../../shared/errors.ts'
import { requestTimeout, throttling } from '../../../../testing/simulated/network.ts'
import { checkInbox, type Sent } from '../checkers/check-end.ts'
import type { Joining, Part } from '../harness/actor.ts'
import { sweepOf } from '../harness/drain.ts'
import { Sqs } from '../harness/sqs.ts'
import type { Command } from './callers/command.ts'
import { KEY_SECONDS, keysExpire } from './callers/profile.ts'
import type { Writer } from './callers/writer.ts'

const MINUTE_MS = 60_000
/** Lambda's, for a batch. */
const BATCH_MS = 30_000
const POLL_EVERY_MS = 5_000
/** A message that has to wait comes again after 18 minutes at most, and then waits for its queue's limit. */
const PATIENCE_MS = 20 * 60 * MINUTE_MS
/** SQS keeps a message for 14 days, in which it may come again. */
const COME_AGAIN_AFTER_DAYS = [2, 10]
const DAY_MS = 24 * 60 * MINUTE_MS
const DAY_SECONDS = DAY_MS / 1_000
/** The hour by which clocks differ, and a run of the function. */
const FORGETS_WITHIN_MS = 90 * MINUTE_MS

type Push = { readonly items: readonly PushItem[]; readonly idempotencyKey?: string | undefined }

/** Producers that push by way of SQS, and the function that applies what is there. */
export function inbox(joining: Joining): Part {
  const { random, profile, world, model, driver, newWriter, after, pause } = joining
  const { ledger } = model
  const nowMs = () => Math.floor(world.scheduler.nowMs)
  const clock = { nowMs, sleep: pause }
  const sqs = new Sqs<Sent>({ nowMs, random: () => random.next() })
  const keyed: { readonly queue: string; readonly push: Push; readonly keyLife: number }[] = []
  let messagesLeft = random.between(3, 14)
  let texts = 0
  const producer = newWriter('sender')
  const writers = [newWriter('apply1'), newWriter('apply2')] as const
  const busy = new Set<Writer>()
  const failures: string[] = []
  const received = new Map<string, SQSRecord>()
  for (const writer of writers) writer.onCrash = () => busy.delete(writer)

  const produce = (): void => {
    if (world.isCalm || messagesLeft <= 0) return
    messagesLeft -= 1
    const { queue, push } = draw()
    void send(queue, push)
    // In bursts, so that batches are full at times and of one message at others.
    after((random.chance(0.7) ? 50 : 5_000) * random.next(), produce)
  }
  const draw = (): { readonly queue: string; readonly push: Push } => {
    const { queue: its } = random.pick(profile.queues)
    const queue = random.chance(0.05) ? deadLetterQueueOf(its) : its
    const { keyLife } = ledger
    const known = keyed.filter((one) => one.keyLife === keyLife)
    const earlier = known.length > 0 && random.chance(0.2) && random.pick(known)
    if (earlier && random.chance(0.6)) return earlier
    const items = newItems(random.pick([1, 1, 1, 2, 3, 40]))
    if (earlier) {
      const { idempotencyKey } = earlier.push
      return { queue: earlier.queue, push: { items, idempotencyKey } }
    }
    if (!random.chance(0.3)) return { queue, push: { items } }
    const drawn = { queue, push: { items, idempotencyKey: `inbox-${texts}` } }
    keyed.push({ ...drawn, keyLife })
    return drawn
  }
  const newItems = (count: number): PushItem[] => {
    const expires = random.chance(0.1) && { expiresInSeconds: random.pick([1, 60, 3_600]) }
    const isLater = random.chance(0.15) && { delaySeconds: random.pick([1, 20]) }
    return Array.from({ length: count }, () => {
      const text = newText()
      return { text, priority: random.pick(profile.priorities), ...expires, ...isLater }
    })
  }
  const newText = (): string => {
    texts += 1
    return `"inbox ${texts}"`
  }
  const send = async (queue: string, push: Push): Promise<void> => {
    if (random.chance(0.05)) return sendRaw(queue)
    const sent: Sent = { queue, texts: push.items.map(({ text }) => text) }
    ledger.announce(undefined, queue, sent.texts, push.idempotencyKey)
    // Now and then the same push goes beside the inbox as well.
    if (push.idempotencyKey !== undefined && random.chance(0.2)) {
      producer.run({ verb: 'push', queue, request: push })
      if (random.chance(0.5)) return
    }
    const way = inboxOn(
      { send: async (message) => request(() => sendNow(message, sent)) },
      { clock, random: () => random.next() },
    )
    const answer = await way.send(queue, push).then(
      () => 'accepted' as const,
      (error: QueueError) => (error.outcome === 'unknown' ? 'unknown' : 'refused'),
    )
    world.history.add('inbox', () => `${sent.texts.join()} to ${queue}: ${answer}`)
    const accepted = [...sqs.accepted.values()]
    const isThere = accepted.some((one) => one.texts[0] === sent.texts[0])
    if (answer === 'accepted' && !isThere) world.violated('202 is a promise', sent.texts.join())
    if (answer === 'refused' && accepted.includes(sent)) {
      world.violated('a definite error changed nothing', sent.texts.join())
    }
  }
  /** Something in AWS that sends what is no push, or to what is no queue. */
  const sendRaw = (queue: string): void => {
    const text = newText()
    const isQueue = random.chance(0.7)
    const group = isQueue ? queue : 'no!queue'
    if (isQueue) ledger.announce(undefined, queue, [text])
    sendNow({ queue: group, body: text }, { queue: group, texts: [text] })
  }
  /** To SQS: answers get lost as they do elsewhere. */
  const request = async <T>(apply: () => T): Promise<T> => {
    await pause(5)
    if (random.chance(world.odds.throttled)) throw throttling()
    if (random.chance(world.odds['request-lost'])) throw requestTimeout()
    const answer = apply()
    if (random.chance(world.odds['answer-lost'])) throw requestTimeout()
    return answer
  }

  /** As Lambda does in as many environments as there are; not while nobody could find anything. */
  const poll = (): void => {
    pollsAtMs = Number.POSITIVE_INFINITY
    const writer = writers.find((one) => !busy.has(one))
    const records = writer === undefined ? [] : sqs.receive()
    if (writer !== undefined && records.length > 0) {
      void apply(writer, records.filter(isToBeApplied))
      pollIn(20)
    } else pollIn(Math.max(POLL_EVERY_MS, busy.size > 0 ? 0 : sqs.nextMs - nowMs()))
  }
  let pollsAtMs = Number.POSITIVE_INFINITY
  const pollIn = (ms: number): void => {
    const atMs = nowMs() + ms
    if (atMs >= pollsAtMs) return
    pollsAtMs = atMs
    after(ms, () => {
      if (pollsAtMs === atMs) poll()
    })
  }
  const sendNow: typeof sqs.send = (...sent) => {
    pollIn(POLL_EVERY_MS * random.next())
    return sqs.send(...sent)
  }
  /**
   * A copy of a keyed push that waits here until the queue no longer knows the key is pushed once more, as the page on
   * the inbox says. Somebody takes such copies out before.
   */
  const isToBeApplied = (record: SQSRecord): boolean => {
    if (!isOfForgottenKey(record)) return true
    sqs.delete(record.receiptHandle)
    sqs.accepted.delete(`${numberOf(record)}`)
    received.delete(record.messageId)
    return false
  }
  const isOfForgottenKey = ({ attributes, messageAttributes }: SQSRecord): boolean => {
    const its = messageAttributes['idempotency-key']?.stringValue
    const lifeMs = 1_000 * (keysExpire(world.seed) ? KEY_SECONDS : DAY_SECONDS)
    const usedBeforeMs = nowMs() - lifeMs + FORGETS_WITHIN_MS
    for (const { key, queue, appendedMs } of its === undefined ? [] : ledger.pushes()) {
      if (key !== its || queue !== attributes.MessageGroupId) continue
      if (appendedMs < usedBeforeMs) return true
    }
    return false
  }
  const apply = async (writer: Writer, records: readonly SQSRecord[]): Promise<void> => {
    if (records.length === 0) return
    for (const record of records) received.set(record.messageId, record)
    busy.add(writer)
    const endMs = nowMs() + BATCH_MS
    const { life } = writer
    after(BATCH_MS, () => {
      if (busy.has(writer) && !life.dead) writer.crash()
    })
    const log = createLog({ level: 'error', service: 'world', write: () => {} })
    const run = { tally: new Tally(), log, remainingMs: () => endMs - nowMs() }
    const port = {
      delay: (delayed: readonly { receiptHandle: string; seconds: number }[]) =>
        request(() => {
          for (const one of delayed) sqs.changeVisibility(one.receiptHandle, one.seconds)
        }),
      giveUp: (message: Parameters<Sqs<Sent>['giveUp']>[0]) => request(() => sqs.giveUp(message)),
    }
    const event = { Records: [...records] }
    const { answer } = await applyBatch(applying(writer), port, event, run, nowMs)
    if (life.dead) return
    busy.delete(writer)
    // Lambda itself may fail to delete what is done.
    if (random.chance(world.odds['answer-lost'])) return
    const failed = new Set(answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier))
    for (const { messageId, receiptHandle } of records) {
      if (!failed.has(messageId)) sqs.delete(receiptHandle)
    }
  }

  return {
    start() {
      after(1_000 * random.next(), produce)
    },
    async settle() {
      const untilMs = nowMs() + PATIENCE_MS
      poll()
      await driver.until(() => sqs.isEmpty || nowMs() > untilMs)
      if (!sqs.isEmpty) world.violated('what the inbox accepted is pushed', 'it is not empty')
      await driver.settle()
      if (!random.chance(0.3)) return
      // SQS keeps them for two weeks.
      failures.push(...sqs.takeFailures())
      for (const days of COME_AGAIN_AFTER_DAYS) {
        await driver.advance(days * DAY_MS)
        await driver.call(producer, sweepOf(world))
        for (const records of batchesOf([...received.values()])) {
          void apply(writers[0], records)
          await driver.settle()
        }
      }
    },
    checkEnd: () =>
      checkInbox(model, [...sqs.accepted.values()], [...failures, ...sqs.takeFailures()]),
  }
}

/** The one verb that the function calls, as an operation like any other. */
const applying = (writer: Writer): Pick<Queues, 'apply'> => ({
  apply: (queue, messages: readonly InboxMessage[], request) => {
    const pushes = messages.map(({ items }) => items)
    const command = { verb: 'apply', queue, rest: [messages, request], pushes } as Command
    return writer.call(command) as ReturnType<Queues['apply']>
  },
})

/** As they came: ten of one queue at a time, in order. */
function batchesOf(records: readonly SQSRecord[]): SQSRecord[][] {
  const groups = Map.groupBy(records, ({ attributes }) => attributes.MessageGroupId ?? '')
  return [...groups.values()].flatMap((group) => {
    const sorted = group.sort((a, b) => (numberOf(a) < numberOf(b) ? -1 : 1))
    return Array.from({ length: Math.ceil(sorted.length / 10) }, (_, n) =>
      sorted.slice(10 * n, 10 * n + 10),
    )
  })
}

const numberOf = ({ attributes }: SQSRecord): bigint => BigInt(attributes.SequenceNumber ?? 0)
