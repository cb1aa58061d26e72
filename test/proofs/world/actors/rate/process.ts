import type { Key } from '../../../../../aws/table.ts'
import { patternsKey } from '../../../../../rate/core/row.ts'
import { createRateLimits, type RateLimits } from '../../../../../rate/rate-limits.ts'
import type { DocumentSender } from '../../../../../testing/simulated/network.ts'
import type { RateCall, RateCommand } from '../../checkers/rate/rate-call.ts'
import type { RateRows } from '../../checkers/rate/rows.ts'
import type { Joining } from '../../harness/actor.ts'
import { show } from '../../harness/history.ts'
import { Mortal } from '../../harness/mortal.ts'
import { carryOut, currentOperation, type Outcome, startOperation } from '../callers/operation.ts'

const HOUR_MS = 3_600_000
const secret = new TextEncoder().encode('the secret of a simulation')

/** What one life of a process has: its limiter, and which state of each row it has heard of last. */
type Service = { readonly limits: RateLimits; readonly known: ReadonlyMap<string, number> }

/** A process with a limiter, which does what callers ask of it. */
export class RateProcess extends Mortal<Service> {
  readonly #joining: Joining
  readonly #rows: RateRows
  readonly #farOff: boolean

  constructor(
    joining: Joining,
    rows: RateRows,
    name: string,
    { farOff = false, clockJumps = joining.profile.clockJumps } = {},
  ) {
    const { world, profile } = joining
    const options = { name, skewMaxMs: profile.skewMaxMs, clockJumps }
    super(world, options, ({ network, clock, random }) => {
      const offMs = farOff ? random.pick([-HOUR_MS, HOUR_MS]) : 0
      const known = new Map<string, number>()
      const limits = createRateLimits({
        tableName: world.store.tableName,
        dynamodb: noting(network.dynamodb, rows, known),
        secret,
        random: () => random.next(),
        clock: { nowMs: () => clock.nowMs() + offMs, sleep: clock.sleep },
      })
      return { limits, known }
    })
    this.#joining = joining
    this.#rows = rows
    this.#farOff = farOff
  }

  run(command: RateCommand, done: (call: RateCall, outcome: Outcome) => void): void {
    const { world, model } = this.#joining
    const { life } = this
    const { limits, known } = this.service
    const receivedMs = Math.floor(world.scheduler.nowMs)
    const operation = startOperation(model, life.name, { verb: 'list', queue: '' })
    const { patterns } = this.#rows
    const knew = known.get(patternsKey.sk) === patterns
    const call: RateCall = {
      command,
      operation,
      slots: [],
      farOff: this.#farOff,
      knows: (row) => known.get(row) === this.#rows.of(row).states.length,
      patterns: () => (knew && this.#rows.patterns === patterns ? patterns : undefined),
    }
    this.#rows.begin(call)
    world.history.add(life.name, () => `#${operation.id} ${show(command)}`)
    const finish = (outcome: Outcome): void => {
      if (life.dead) return
      world.history.add(life.name, () => `#${operation.id} → ${show(outcome)}`)
      done(call, outcome)
    }
    const atCommit = () => operation.startedAtCommit
    carryOut(operation, () => perform(limits, command, receivedMs), atCommit, finish)
  }
}

/** Notes which state of a row, and of the settings of prefixes, the process has heard of last. */
const noting = (network: DocumentSender, rows: RateRows, known: Map<string, number>) => ({
  send: async (command: { readonly input: { readonly Key?: Key } }) => {
    const { pk = '', sk } = command.input.Key ?? {}
    const { patterns } = rows
    const { states } = rows.of(pk)
    const [before, operation] = [states.length, currentOperation.getStore()]
    try {
      const answer = await network.send(command as never)
      const own = states.findIndex(({ by }, at) => at >= before && by === operation)
      known.set(pk, own < 0 ? before : own + 1)
      if (sk === patternsKey.sk) known.set(sk, patterns)
      return answer as never
    } catch (error) {
      if ((error as Error).name === 'ConditionalCheckFailedException') known.set(pk, before)
      throw error
    }
  },
})

/** `receivedMs`: when the gateway got it, which is the true time. */
function perform(limits: RateLimits, command: RateCommand, receivedMs: number): Promise<unknown> {
  const { verb } = command
  if (verb === 'admit') return limits.admit(command.key, { ...command.request, receivedMs })
  if (verb === 'state') return limits.state(command.key)
  const call = limits[verb] as (...request: unknown[]) => Promise<unknown>
  if ('patterns' in command) return call(command.patterns, { receivedMs })
  const of =
    'ticket' in command ? [command.ticket] : 'settings' in command ? [command.settings] : []
  return call(command.key, ...of, { receivedMs })
}
