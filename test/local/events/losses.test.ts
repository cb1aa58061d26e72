import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Losses } from '../../../local/events/losses.ts'
import { failure, type Outcome } from '../../../local/functions/messages.ts'
import { aFunction } from '../a-function.ts'
import { until } from '../a-stack.ts'

const about = (queue: string) => JSON.stringify({ detail: { queue } })
const answer = (report: object = {}): Outcome => ({
  kind: 'answered',
  payload: JSON.stringify(report),
})
const fails = failure('Error', 'it failed')

type Settings = {
  readonly isAlone?: boolean
  readonly announcing?: boolean
  readonly heldMsMax?: number
  /** What the announcing function answers to each call. */
  readonly answers?: (call: number) => Outcome | Promise<Outcome>
}

function losses({
  isAlone = true,
  announcing = true,
  heldMsMax = 60_000,
  answers = () => answer(),
}: Settings = {}) {
  const sentences: string[] = []
  const events: string[] = []
  const submitted: string[] = []
  const holds = { begun: 0, ended: 0 }
  const sweep = aFunction('', {
    id: 'Sweep',
    ...(announcing && { afterLoss: { again: {} }, afterRestart: { again: { all: true } } }),
  })
  const environment = { PUSHPOP_CONSUMER_DEAD_LETTERS: 'no' }
  const ofAPrefix = aFunction('', { id: 'WorkDevices', environment })
  const wake = aFunction('', { id: 'Wake', afterRestart: { stays: true } })
  const all = new Losses({
    functions: [aFunction('', { id: 'Work' }), ofAPrefix, wake, sweep],
    submit: (_, event) => submitted.push(event),
    async invoke(_, event) {
      events.push(event)
      return answers(events.length)
    },
    hold() {
      holds.begun += 1
      return () => {
        holds.ended += 1
      }
    },
    onNotice: (sentence) => sentences.push(sentence),
    isAlone,
    againMs: 20,
    heldMsMax,
  })
  return { all, sentences, events, submitted, holds }
}

const AFTER_LOSS = '{"again":{}}'
const AFTER_RESTART = '{"again":{"all":true}}'

describe('An event that is given up', () => {
  test('names its queue and what to do, once until the function answers again.', () => {
    const { all, sentences } = losses()
    all.dropped('Work', about('orders'), 'the function failed 3 times')
    all.dropped('Work', about('orders'), 'the function failed 3 times')
    expect(sentences).toEqual([
      'An event for Work about the queue "orders" was dropped because the function failed 3 times. On AWS it ' +
        'would be in a failure queue now; here the queue is announced again soon, and again until it works: ' +
        'fix Work, and its items are handled.',
    ])
    all.answered('Work')
    all.dropped('Work', about('orders'), 'the function failed 3 times')
    expect(sentences).toHaveLength(2)
    all.stop()
  })

  test('of another kind, or where nobody announces again, shows itself.', () => {
    const { all, sentences } = losses()
    all.dropped('Work', '{"detail":{"order":1}}', 'it was full')
    expect(sentences[0]).toContain('An event for Work ({"detail":{"order":1}}) was dropped')
    expect(sentences[0]).toMatch(/fix Work, and send the event again\.$/)
    all.dropped('Work', 'order 17', 'it failed')
    expect(sentences[1]).toContain('An event for Work (order 17) was dropped')
    all.stop()
  })

  test('is not worth a word if its function would have ignored it.', async () => {
    const { all, sentences, events } = losses()
    all.dropped('WorkDevices', about('device.1-deadletter'), 'the function failed 3 times')
    await delay(60)
    expect([...sentences, ...events]).toEqual([])
    all.dropped('WorkDevices', about('device.1'), 'the function failed 3 times')
    all.dropped('Work', about('orders-deadletter'), 'the function failed 3 times')
    expect(sentences).toHaveLength(2)
    all.stop()
  })

  test('does not fill the screen if many queues wait for the same function.', () => {
    const { all, sentences } = losses()
    for (let n = 0; n < 100; n += 1) all.dropped('Work', about(`q-${n}`), 'it failed')
    expect(sentences).toHaveLength(5)
    all.stop()
  })

  test('has what waits announced again, again and again.', async () => {
    const { all, events } = losses()
    all.dropped('Work', about('a'), 'it failed')
    all.dropped('Work', about('b'), 'it failed')
    await until(() => events.length === 1)
    all.dropped('Work', about('a'), 'it failed')
    await until(() => events.length === 2)
    expect(events).toEqual([AFTER_LOSS, AFTER_LOSS])
    all.stop()
  })
})

describe('An announcement', () => {
  test('that is at work may have passed what gets lost meanwhile, so another one follows it.', async () => {
    const first = Promise.withResolvers<Outcome>()
    const { all, events } = losses({ answers: (call) => (call === 1 ? first.promise : answer()) })
    all.dropped('Work', about('a'), 'it failed')
    await until(() => events.length === 1)
    all.dropped('Work', about('b'), 'it failed')
    all.dropped('Work', about('c'), 'it failed')
    await delay(60)
    expect(events).toHaveLength(1)
    first.resolve(answer())
    await until(() => events.length === 2)
    await delay(60)
    expect(events).toEqual([AFTER_LOSS, AFTER_LOSS])
    all.stop()
  })

  test('that fails is repeated until it works; the user hears of that once.', async () => {
    const { all, events, sentences } = losses({
      answers: (call) => (call <= 8 ? fails : answer()),
    })
    all.happened()
    await until(() => events.length === 9)
    await delay(60)
    expect(events).toEqual(Array(9).fill(AFTER_LOSS))
    expect(sentences).toEqual([
      'Cannot announce the items that wait because Sweep failed 3 times; it is called again until it works.',
    ])
    all.stop()
  })

  test('that ran out of time goes on where it stopped.', async () => {
    const reports = [{ cursor: '3/a', failed: 0 }, { cursor: '9/b' }]
    const { all, events } = losses({ answers: (call) => answer(reports[call - 1]) })
    all.happened()
    await until(() => events.length === 3)
    await delay(60)
    expect(events).toEqual([AFTER_LOSS, '{"again":{"cursor":"3/a"}}', '{"again":{"cursor":"9/b"}}'])
    all.stop()
  })

  test('that failed at some queues is repeated, but not for ever: nobody may be able to read them.', async () => {
    const { all, events } = losses({ answers: () => answer({ failed: 1 }) })
    all.happened()
    await until(() => events.length === 10)
    await delay(60)
    expect(events).toHaveLength(10)
    // The next loss is announced as ever.
    all.happened()
    await until(() => events.length === 20)
    all.stop()
  })
})

describe('After a restart', () => {
  test('events wait until the locks of consumers have ended, in all queues.', async () => {
    const rest = Promise.withResolvers<Outcome>()
    const reports: (Outcome | Promise<Outcome>)[] = [fails, answer({ cursor: '3/a' }), rest.promise]
    const { all, events, submitted, holds } = losses({
      answers: (call) => reports[call - 1] as Outcome,
    })
    const done = all.afterRestart()
    expect(holds).toEqual({ begun: 1, ended: 0 })
    expect(submitted).toEqual(['{"stays":true}'])
    await until(() => events.length === 3)
    expect(events).toEqual([AFTER_RESTART, AFTER_RESTART, '{"again":{"all":true,"cursor":"3/a"}}'])
    expect(holds.ended).toBe(0)
    rest.resolve(answer())
    await done
    expect(holds.ended).toBe(1)
    await delay(60)
    expect(events).toHaveLength(3)
    all.stop()
  })

  test('events do not wait for ever, and from then on no lock ends with an announcement.', async () => {
    let works = false
    const { all, events, holds } = losses({
      heldMsMax: 100,
      answers: () => (works ? answer() : fails),
    })
    await all.afterRestart()
    expect(holds).toEqual({ begun: 1, ended: 1 })
    expect(new Set(events.splice(0))).toEqual(new Set([AFTER_RESTART]))
    await until(() => events.length >= 2)
    works = true
    const tried = events.length
    await until(() => events.length > tried)
    expect(new Set(events)).toEqual(new Set([AFTER_LOSS]))
    all.stop()
  })

  test('a call that has begun may still end locks, so events wait for its answer.', async () => {
    const late = Promise.withResolvers<Outcome>()
    const { all, events, holds } = losses({
      heldMsMax: 20,
      answers: (call) => (call === 1 ? late.promise : answer()),
    })
    const done = all.afterRestart()
    await delay(60)
    expect(holds.ended).toBe(0)
    late.resolve(answer({ cursor: '3/a' }))
    await done
    expect(holds.ended).toBe(1)
    await until(() => events.length === 2)
    expect(events).toEqual([AFTER_RESTART, AFTER_LOSS])
    all.stop()
  })

  test('a stop ends the wait, and says nothing of functions that end with it.', async () => {
    const { all, events, sentences } = losses({ answers: () => fails })
    const done = all.afterRestart()
    await until(() => events.length === 1)
    all.stop()
    await done
    await delay(60)
    expect(events).toHaveLength(1)
    expect(sentences).toEqual([])
  })

  test('nothing of other stacks on the same stores is taken for dead.', async () => {
    const { all, events, submitted, holds } = losses({ isAlone: false })
    await all.afterRestart()
    await until(() => events.length === 1)
    expect(events).toEqual([AFTER_LOSS])
    expect(submitted).toEqual([])
    expect(holds.begun).toBe(0)
    all.stop()
  })
})
