// A process dies at each of its requests in turn while it applies a batch; then the batch comes again, to
// another one. What it had sent is carried out, or is not, or comes only after that.

import { describe, expect, it } from 'vitest'
import type { InboxMessage } from '../../../engine/queues.ts'
import { message, refused } from '../../engine/messages.ts'
import { openSimulated, type Stage } from '../../engine/stage.ts'
import { drain, named, textsOf } from '../../engine/traffic.ts'
import type { Request } from '../../engine/wire.ts'

const QUEUE = 'orders'

const batch: readonly InboxMessage[] = [
  message(1),
  message(2, { idempotencyKey: 'a' }),
  refused(3),
  message(4, { items: named('bulk', 60, 1) }),
  // The same key with other items.
  message(5, { idempotencyKey: 'a', items: named('other', 1) }),
  message(6, { items: named('two', 2, 3) }),
  message(7, { idempotencyKey: 'b' }),
]

async function outcomeOf(stage: Stage) {
  const [left, dead] = [
    await drain(stage.engine(), QUEUE),
    await drain(stage.engine(), `${QUEUE}-deadletter`),
  ]
  return { left: textsOf(left), dead: textsOf(dead) }
}

const expected = {
  left: textsOf([
    ...named('m', 2, 0, 1),
    ...named('m', 1, 0, 7),
    ...named('bulk', 60),
    ...named('two', 2),
  ]),
  dead: ['"bad3"', '"other0"'],
}

type Fate = 'before' | 'after' | 'late'
const never = new Promise<never>(() => {})

/** Applies the batch in a process that dies at this request; whether it came that far. */
async function die(stage: Stage, at: number, fate: Fate) {
  let reached = (): void => {}
  let land = (): void => {}
  const landing = new Promise<void>((resolve) => {
    land = resolve
  })
  const died = new Promise<'died'>((resolve) => {
    reached = () => resolve('died')
  })
  const dead = stage.engine({
    before: async (_: Request, number: number) => {
      if (number < at) return
      reached()
      if (number > at || fate === 'before') await never
      if (fate === 'late') await landing
    },
    after: (_: Request, number: number) => {
      if (number < at) return
      return never
    },
  })
  const outcome = await Promise.race([dead.apply(QUEUE, batch), died])
  return { hasDied: outcome === 'died', land }
}

describe.each(['before', 'after', 'late'] as const)(
  'A process that dies %s it is carried out',
  (fate) => {
    it('leaves a batch that is applied once, whichever request it was.', async () => {
      let at = 1
      for (; ; at += 1) {
        const stage = openSimulated()
        const { hasDied, land } = await die(stage, at, fate)
        if (!hasDied) break
        // As long as a batch is hidden.
        stage.clock.pass(1_080_000)
        const again = stage.engine()
        expect(await again.apply(QUEUE, batch)).toMatchObject({ settled: batch.length })
        land()
        await new Promise((resolve) => setImmediate(resolve))
        expect(await stage.engine().apply(QUEUE, batch)).toMatchObject({ pushed: 0, settled: 7 })
        expect({ at, ...(await outcomeOf(stage)) }).toEqual({ at, ...expected })
      }
      expect(at).toBeGreaterThan(10)
    })
  },
)
