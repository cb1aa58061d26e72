// How a request failed, for an engine that must know whether it can have been carried out.

/** There was no connection, so nothing of the request left this machine: nothing changed. */
export class RequestNotSentError extends Error {
  override readonly name = 'RequestNotSentError'

  constructor(host: string, cause: unknown) {
    const { message, code } = cause as NodeJS.ErrnoException
    // That none of several addresses answers is an error without a message.
    const why = message || code
    super(`Cannot send the request because there is no connection to ${host}: ${why}`, { cause })
  }
}

/** It cannot be written or signed, so nothing was sent; trying again would not help. */
export class RequestNotMadeError extends Error {
  override readonly name = 'RequestNotMadeError'

  constructor(cause: Error) {
    super(cause.message, { cause })
  }
}

/** Named as the SDK's own handler names it, for clients with retries of their own. */
export const timeoutError = (message: string): Error =>
  Object.assign(new Error(message), { name: 'TimeoutError', code: 'ETIMEDOUT' })

export const abortError = ({ reason }: AbortSignal): Error =>
  Object.assign(new Error('The caller aborted the request', { cause: reason }), {
    name: 'AbortError',
  })
