import { consumer } from '../../lambdas/consumer/index.ts' // 'pushpop/consumer'

type Webhook = { readonly url: string; readonly event: string; readonly data: unknown }

/** Less than the function's timeout: an endpoint that never answers must not take the run with it. */
const ANSWER_MS = 10_000

/** One webhook at a time for each tenant, in order: those behind it wait until it is delivered or dead. */
export const handler = consumer<Webhook>(async ([item], { deadLetter, signal }) => {
  if (item === undefined) return
  const { url, event, data } = item.value
  const response = await fetch(url, {
    method: 'POST',
    // The id stays the same when we try again, so the tenant can tell a repetition.
    headers: { 'content-type': 'application/json', 'webhook-id': item.id },
    body: JSON.stringify({ event, data }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
    redirect: 'error',
  })
  await response.body?.cancel()
  if (response.ok) return
  const problem = `the endpoint answered ${response.status}`
  // Such an endpoint would say the same again.
  if (isFinal(response.status)) return deadLetter(item, problem)
  // It comes again after 1, 2, 4, … seconds, and is dead after `maxDeliveries`, for this reason.
  throw new Error(problem)
})

/** The request itself is refused; 408 and 429 say to come back later. */
const isFinal = (status: number): boolean =>
  status >= 400 && status < 500 && status !== 408 && status !== 429
