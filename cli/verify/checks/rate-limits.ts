import type { RateDecision } from '../../../client/index.ts'
import type { Check } from '../check.ts'
import { holds, refused, same } from '../claims.ts'

/** With windows of a day, no step runs into the end of one, except at midnight UTC. */
const TWO_A_DAY = { maxRequests: 2, windowMillis: 86_400_000 } as const

export const rateLimits: Check = {
  name: 'rate-limits',
  promise: 'A rate limit admits as many calls as it says, and gives the others a place in line',
  steps: {
    'Two calls may go, and the third is told when to come again': async ({ client, rateKey }) => {
      const limit = client.rate(rateKey())
      const kinds: RateDecision['kind'][] = []
      for (const _ of [1, 2, 3]) {
        const decision = await limit.decide(TWO_A_DAY)
        kinds.push(decision.kind)
        if (decision.kind === 'denied') holds(decision.retryAfterMs > 0, 'no retry_after_ms came')
      }
      same('the decisions', kinds, ['allowed', 'allowed', 'denied'])
    },

    'A caller that can wait gets a ticket, which is good for its own key alone': async (stage) => {
      const [limit, other] = [stage.rateKey(), stage.rateKey()].map(stage.client.rate)
      holds(limit !== undefined && other !== undefined, 'two keys were made')
      await limit.decide({ ...TWO_A_DAY, cost: 2 })
      const [first, second] = [
        await limit.decide({ ...TWO_A_DAY, canWait: true, maxWaitMs: 0 }),
        await limit.decide({ ...TWO_A_DAY, canWait: true, maxWaitMs: 0 }),
      ]
      holds(first.kind === 'promised', `the first who could wait was ${first.kind}`)
      holds(second.kind === 'promised', `the second who could wait was ${second.kind}`)
      same('their positions', [first.position, second.position], [1, 2])
      same('the state of the ticket', (await limit.verify(first.ticket)).kind, 'waiting')
      const foreign = other.verify(first.ticket)
      await refused(foreign, { code: 'TICKET_NOT_FOUND', status: 404 })
      same('the last place, given up', (await limit.giveUp(second.ticket)).kind, 'given-up')
    },
  },
}
