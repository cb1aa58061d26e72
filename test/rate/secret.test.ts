import { describe, expect, it } from 'vitest'
import type { Clock } from '../../aws/dynamo.ts'
import { createRateLimits } from '../../rate/rate-limits.ts'
import { createTicketSecrets, SECRET_SETTLES_MS, SECRETS_KEPT_MS } from '../../rate/secrets.ts'
import { systemClock } from '../../shared/system.ts'
import { createSimulatedClient } from '../../testing/simulated/network.ts'
import { SimulatedStore } from '../../testing/simulated/store.ts'
import { ManualClock } from '../engine/manual-clock.ts'
import { Wire } from '../engine/wire.ts'

/** Processes that bring no secret of their own. */
function withoutSecret(clock: Clock = systemClock) {
  const store = new SimulatedStore({ nowMs: () => clock.nowMs() })
  const { dynamodb } = createSimulatedClient(store)
  const process = (options: ConstructorParameters<typeof Wire>[0] = {}) => {
    const wire = new Wire(options)
    const port = wire.through('dynamodb', dynamodb as never)
    const limits = createRateLimits({ tableName: store.tableName, dynamodb: port, clock })
    return Object.assign(limits, { wire })
  }
  const secrets = (options: ConstructorParameters<typeof Wire>[0] = {}) => {
    const port = new Wire(options).through('dynamodb', dynamodb as never)
    return createTicketSecrets({ tableName: store.tableName, dynamodb: port, clock })
  }
  return { store, process, secrets }
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
  it('is one for all processes, no matter which of them makes it, and has 32 bytes.', async () => {
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

/** Whose turn is far away, so that it is still waited for whatever happens to the secret meanwhile. */
const DAYS = 86_400_000

describe('A secret that is changed', () => {
  async function begun() {
    const clock = new ManualClock()
    const { store, process, secrets } = withoutSecret(clock)
    // Two that have read the first secret, and never less than a change's time ago.
    const [one, other] = [process(), process()]
    const ticket = await ticketFor(one)
    const kindOf = async (limits: typeof one, text: string) => (await limits.verify('k', text)).kind
    expect(await kindOf(other, ticket)).toBe('waiting')
    const first = (store.item('r#', 'secret') as { s: Uint8Array }).s
    /** A ticket is signed by one secret alone. */
    const signedBy = async (secret: Uint8Array, text: string) => {
      const { dynamodb } = createSimulatedClient(store)
      const options = { tableName: store.tableName, dynamodb: dynamodb as never, clock, secret }
      return (await createRateLimits(options).verify('k', text)).kind !== 'invalid'
    }
    return { clock, store, process, secrets, one, other, ticket, first, kindOf, signedBy }
  }

  it('signs when every process has read it, and tickets stay good everywhere, always.', async () => {
    const { clock, secrets, one, other, ticket, first, kindOf, signedBy, process } = await begun()
    clock.pass(DAYS / 24)
    const change = await secrets().rotate()
    if (change.kind !== 'changed') throw new Error(change.kind)
    const { newest } = change.secrets
    const tickets = [ticket]
    // In steps that are no divisor of what a process keeps: each reads at a time of its own.
    const stepMs = 70_000
    for (let passedMs = 0; passedMs < 3 * SECRET_SETTLES_MS; passedMs += stepMs) {
      const fresh = process()
      for (const maker of [one, other, fresh]) {
        const made = await ticketFor(maker)
        expect(await signedBy(passedMs < SECRET_SETTLES_MS ? first : newest, made)).toBe(true)
        tickets.push(made)
      }
      for (const limits of [one, other, fresh]) {
        for (const text of tickets) expect(await kindOf(limits, text)).toBe('waiting')
      }
      clock.pass(stepMs)
    }
  })

  it('is read again every five minutes where tickets need it, and not in between.', async () => {
    const { clock, one, ticket, kindOf } = await begun()
    const reads = () => one.wire.sent.length
    const before = reads()
    clock.pass(SECRETS_KEPT_MS)
    await kindOf(one, ticket)
    expect(reads()).toBe(before)
    clock.pass(1)
    await kindOf(one, ticket)
    await kindOf(one, ticket)
    expect(reads()).toBe(before + 1)
  })

  it('can be the only one: what the former ones have signed is void soon after.', async () => {
    const { clock, secrets, one, ticket, kindOf } = await begun()
    await secrets().rotate()
    const { untilMs } = { untilMs: clock.nowMs() + SECRET_SETTLES_MS }
    expect(await secrets().forgetFormer()).toEqual({ kind: 'settling', untilMs })
    expect(await secrets().rotate()).toEqual({ kind: 'settling', untilMs })
    clock.pass(SECRET_SETTLES_MS)
    const made = await ticketFor(one)
    expect((await secrets().forgetFormer()).kind).toBe('changed')
    clock.pass(SECRETS_KEPT_MS + 1)
    expect([await kindOf(one, ticket), await kindOf(one, made)]).toEqual(['invalid', 'waiting'])
    expect(await secrets().read()).toMatchObject({ former: [] })
  })

  it('is changed once by two at once, and by one whose answer is lost.', async () => {
    const { clock, secrets } = await begun()
    const both = await Promise.all([secrets().rotate(), secrets().rotate()])
    expect(both.map(({ kind }) => kind).sort()).toEqual(['changed', 'settling'])
    clock.pass(SECRET_SETTLES_MS)
    let lost = 0
    const lossy = secrets({
      after: ({ name }: { name: string }) => {
        if (name !== 'PutCommand' || lost > 0) return
        lost += 1
        throw Object.assign(new Error('socket hang up'), { name: 'TimeoutError' })
      },
    } as never)
    const change = await lossy.rotate()
    expect([lost, change.kind]).toEqual([1, 'changed'])
    const now = await secrets().read()
    expect(now?.former).toHaveLength(2)
    if (change.kind === 'changed') expect(now).toEqual(change.secrets)
  })

  it('brings none back that was forgotten meanwhile.', async () => {
    const { clock, secrets } = await begun()
    await secrets().rotate()
    clock.pass(SECRET_SETTLES_MS)
    let forgotten = 0
    const slow = secrets({
      before: async ({ name }: { name: string }) => {
        if (name !== 'PutCommand' || forgotten > 0) return
        forgotten += 1
        await secrets().forgetFormer()
      },
    } as never)
    expect((await slow.rotate()).kind).toBe('changed')
    expect(forgotten).toBe(1)
    expect((await secrets().read())?.former).toHaveLength(1)
  })

  it('is none if nothing has been signed yet.', async () => {
    const { store, secrets } = withoutSecret()
    expect(await secrets().read()).toBeUndefined()
    expect(await secrets().rotate()).toEqual({ kind: 'none' })
    expect(await secrets().forgetFormer()).toEqual({ kind: 'none' })
    expect(store.item('r#', 'secret')).toBeUndefined()
  })
})
