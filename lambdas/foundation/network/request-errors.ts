// How a request failed, for an engine that must know whether the request may have been carried out.

/** There was no connection, so no part of the request left this machine, and nothing changed. */
export class RequestNotSentError extends Error {
  override readonly name = 'RequestNotSentError'

  constructor(host: string, cause: unknown) {
    const { message, code } = cause as NodeJS.ErrnoException
    // If none of several addresses answers, Node's error has no message.
    const why = message || code
    super(`Cannot send the request because there is no connection to ${host}: ${why}`, { cause })
  }
}

/** We could not write or sign the request, so nothing was sent; trying again would not help. */
export class RequestNotMadeError extends Error {
  override readonly name = 'RequestNotMadeError'

  constructor(cause: Error) {
    super(cause.message, { cause })
  }
}

/** Has the name that the SDK's own handler gives it, for clients with their own retries. */
export const timeoutError = (message: string): Error =>
  Object.assign(new Error(message), { name: 'TimeoutError', code: 'ETIMEDOUT' })

export const abortError = ({ reason }: AbortSignal): Error =>
  Object.assign(new Error('The caller aborted the request', { cause: reason }), {
    name: 'AbortError',
  })
