import { describe, expect, it } from 'vitest'
import { createRateLimits } from '../../../lambdas/rate/rate-limits.ts'
import { Wire } from '../../engine/wire.ts'
import { createSimulatedClient } from '../../simulated/simulated-client.ts'
import { SimulatedStore } from '../../simulated/simulated-store.ts'

/** Processes that bring no secret of their own. */
function withoutSecret() {
  const store = new SimulatedStore({ nowMs: () => Date.now() })
  const { dynamodb } = createSimulatedClient(store)
  const process = (options: ConstructorParameters<typeof Wire>[0] = {}) => {
    const wire = new Wire(options)
    const port = wire.through('dynamodb', dynamodb as never)
    const limits = createRateLimits({ tableName: store.tableName, dynamodb: port })
    return Object.assign(limits, { wire })
  }
  return { store, process }
}

const ticketFor = async (limits: ReturnType<ReturnType<typeof withoutSecret>['process']>) => {
  const overrides = { maxRequests: 1, windowMillis: 86_400_000 }
  for (;;) {
    const answer = await limits.admit('k', { canWait: true, maxWaitMs: 0, overrides })
    if (answer.kind === 'promised') return answer.ticket
    if (answer.kind !== 'allowed') throw new Error(`expected a ticket, not ${answer.kind}`)
  }
}

describe('The secret of a table', () => {
  it('is one for all processes, whoever makes it, and has 32 bytes.', async () => {
    const { store, process } = withoutSecret()
    const all = Array.from({ length: 8 }, () => process())
    const tickets = await Promise.all(all.map(ticketFor))
    for (const ticket of tickets) {
      for (const limits of all) {
        expect((await limits.verify('k', ticket)).kind).toBe('waiting')
      }
    }
    expect((store.item('r#', 'secret') as { s: Uint8Array }).s).toHaveLength(32)
  })

  it('is read once by a process, and not before a ticket needs it.', async () => {
    const { process } = withoutSecret()
    const ticket = await ticketFor(process())
    const limits = process()
    await limits.decide('another')
    const before = limits.wire.sent.length
    await limits.verify('k', ticket)
    await limits.verify('k', ticket)
    expect(limits.wire.sent).toHaveLength(before + 1)
  })

  it('is not lost with the answer to its making.', async () => {
    const { process } = withoutSecret()
    let lost = 0
    const limits = process({
      after: ({ name }: { name: string }) => {
        if (name !== 'PutCommand') return
        lost += 1
        throw Object.assign(new Error('socket hang up'), { name: 'TimeoutError' })
      },
    } as never)
    const ticket = await ticketFor(limits)
    expect(lost).toBe(1)
    expect((await process().verify('k', ticket)).kind).toBe('waiting')
  })

  it('may come from elsewhere, asked for again if it does not come.', async () => {
    const { store } = withoutSecret()
    const { dynamodb } = createSimulatedClient(store)
    let asked = 0
    const limits = createRateLimits({
      tableName: store.tableName,
      dynamodb: dynamodb as never,
      secret: async () => {
        asked += 1
        if (asked === 1) throw new Error('not yet')
        return new Uint8Array(32).fill(7)
      },
    })
    await expect(limits.verify('k', 'x')).rejects.toThrow('not yet')
    expect(await limits.verify('k', 'x')).toEqual({ kind: 'invalid' })
    expect(asked).toBe(2)
  })
})
