import type { Client, Queue } from '../../client/index.ts' // 'pushpop/client'

export type Call = { readonly customer: number }

/**
 * Works the queue until the signal comes: takes a call, waits for its turn under the limit `partner`, and
 * makes it. Several processes may do this, on any machines: they share the one limit, which leaves room for each.
 */
export async function callPartner(
  client: Client,
  queue: Queue<Call>,
  { url, signal }: { readonly url: string; readonly signal: AbortSignal },
): Promise<void> {
  const limit = client.rate('partner')
  await queue.consume(
    async ({ value }, context) => {
      // The lock is extended while we wait. A turn that is too far away puts the call back.
      const turn = await limit.wait({ maxWaitMs: 60_000, signal: context.signal })
      if (turn.kind !== 'allowed')
        throw new Error('Cannot call the partner because the line is full')
      const response = await fetch(`${url}/customers/${value.customer}`, { signal: context.signal })
      // Somebody else may use up the partner's limit too: the call comes again, a little later.
      if (!response.ok) throw new Error(`The partner answered ${response.status}`)
    },
    // One call at a time: each further one could be late, and arrive together with those whose turn it is.
    {
      competing: true,
      signal,
      onError: ({ error }) => console.log(`  ${(error as Error).message}`),
    },
  )
}
