// Bounds the wait for an answer if the caller's client does not.

import { afterReading } from './network/answer-timeouts.ts'
import { timeoutError } from './network/request-errors.ts'

export type SendOptions = { readonly abortSignal?: AbortSignal }

/**
 * With the SDK's own request handler, a client waits as long as it is configured to, and without end for
 * a body. Ours has a deadline (`createRequestHandler`), and a simulation needs none.
 */
export function hasDeadline(port: object): boolean {
  const { config } = port as { config?: { requestHandler?: object } }
  return config === undefined || 'answerTimeoutMs' in (config.requestHandler ?? {})
}

/** Aborts the request when its time is over, and then stops waiting, whatever becomes of it. */
export async function withinDeadline<T>(
  ms: number,
  request: (options: SendOptions) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  let deadline: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    deadline = afterReading(ms, () => {
      const error = timeoutError(`there was no answer within ${ms} ms`)
      reject(error)
      controller.abort(error)
    })
  })
  try {
    return await Promise.race([request({ abortSignal: controller.signal }), late])
  } finally {
    clearTimeout(deadline)
  }
}
