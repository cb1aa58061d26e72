import type { Network } from './simulated-client.ts'
import type { SimulatedStore } from './simulated-store.ts'

/**
 * A network for a store whose transactions settle item by item (`settlesAfterMs`): as on AWS, the answer comes only
 * once everybody can see all of a transaction. So others, and a sender that lost the answer, may see half of it.
 */
export function settlingTransactions(
  store: SimulatedStore,
  network: Network,
  time: { nowMs(): number; sleep(ms: number): Promise<void> },
): Network {
  return {
    async deliver(request, apply) {
      const answer = await network.deliver(request, apply)
      if (request.name === 'TransactWriteCommand' && store.settledAtMs > time.nowMs()) {
        await time.sleep(store.settledAtMs - time.nowMs() + 1)
      }
      return answer
    },
  }
}
