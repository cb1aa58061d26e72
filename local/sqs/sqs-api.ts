// SQS by its own JSON, without the SDK: the stack makes a handful of calls.

export class SqsApiError extends Error {
  override name = 'SqsApiError'
}

type Output = Readonly<Record<string, unknown>>

export type SqsApi = (action: string, input: Output, signal?: AbortSignal) => Promise<Output>

/** Longer than the longest poll, and than any call takes on a busy machine: no call may wait for ever. */
const REQUEST_MS_MAX = 40_000

export function sqsApi(endpoint: string): SqsApi {
  return async (action, input, signal) => {
    const timeout = AbortSignal.timeout(REQUEST_MS_MAX)
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': `AmazonSQS.${action}`,
      },
      body: JSON.stringify(input),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    })
    const output = (await response.json()) as Output
    if (response.ok) return output
    throw new SqsApiError(`SQS refused ${action}: ${output.message}`)
  }
}
