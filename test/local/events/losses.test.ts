import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Losses } from '../../../local/events/losses.ts'
import { aFunction } from '../a-function.ts'
import { until } from '../a-stack.ts'

const about = (queue: string) => JSON.stringify({ detail: { queue } })

function losses({ isAlone = true, announcing = true, isAtWork = (): boolean => false } = {}) {
  const sentences: string[] = []
  const events: string[] = []
  const sweep = aFunction('', {
    id: 'Sweep',
    ...(announcing && { afterLoss: { again: 1 }, afterRestart: { again: 2 } }),
  })
  const all = new Losses({
    functions: [aFunction('', { id: 'Work' }), sweep],
    submit(_, event) {
      if (isAtWork()) return false
      events.push(event)
      return true
    },
    onNotice: (sentence) => sentences.push(sentence),
    isAlone,
    againMs: 20,
  })
  return { all, sentences, events }
}

describe('An event that is given up', () => {
  test('names its queue and what to do, once until the function answers again.', () => {
    const { all, sentences } = losses()
    all.dropped('Work', about('orders'), 'the function failed 3 times')
    all.dropped('Work', about('orders'), 'the function failed 3 times')
    expect(sentences).toEqual([
      'An event for Work about the queue "orders" was dropped because the function failed 3 times. On AWS it ' +
        'would be in a failure queue now; here the queue is announced again soon, and again until it works: ' +
        'mend Work, and its items are handled.',
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
    expect(sentences[0]).toMatch(/mend Work, and send the event again\.$/)
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
    expect(events).toEqual(['{"again":1}', '{"again":1}'])
    all.stop()
  })
})

describe('While an announcement is at work', () => {
  test('what gets lost is announced by another one after it: it may have passed that queue.', async () => {
    let asked = 0
    const { all, events } = losses({ isAtWork: () => ++asked <= 3 })
    all.dropped('Work', about('a'), 'it failed')
    await until(() => events.length === 1)
    expect(asked).toBe(4)
    await delay(60)
    expect(events).toEqual(['{"again":1}'])
    all.stop()
  })

  test('a new one ends no locks: by then the functions are at work again.', async () => {
    let asked = 0
    const { all, events } = losses({ isAtWork: () => ++asked === 1 })
    all.announce('afterRestart')
    await until(() => events.length === 1)
    expect(events).toEqual(['{"again":1}'])
    all.stop()
  })
})

describe('After a restart', () => {
  test('the announcement that fails is repeated as it was, because it also ends locks.', async () => {
    const { all, events } = losses()
    all.announce('afterRestart')
    expect(events).toEqual(['{"again":2}'])
    all.dropped('Sweep', '{"again":2}', 'it failed')
    await until(() => events.length === 2)
    expect(events[1]).toBe('{"again":2}')
    all.stop()
  })

  test('nothing of other stacks on the same stores is taken for dead.', () => {
    const { all, events } = losses({ isAlone: false })
    all.announce('afterRestart')
    expect(events).toEqual(['{"again":1}'])
  })
})
