// An end to the wait for an answer, where the caller's client knows none.

import { afterReading } from './network/answer-timeouts.ts'
import { timeoutError } from './network/request-errors.ts'

export type SendOptions = { readonly abortSignal?: AbortSignal }

/**
 * With its own request handler, a client of the SDK waits as long as it is set to, and never stops
 * waiting for a body. Ours has a deadline (`createRequestHandler`), and a simulation needs none.
 */
export function hasDeadline(port: object): boolean {
  const { config } = port as { config?: { requestHandler?: object } }
  return config === undefined || 'answerTimeoutMs' in (config.requestHandler ?? {})
}

/** Aborts the request when its time is over, and waits no longer, whatever becomes of it. */
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
