// How the cases of this folder make a request: whoever runs them brings the way. Here requests go
// to the handlers by way of the local gateway's event, elsewhere over real HTTP.

export type CallOptions = {
  readonly headers?: Readonly<Record<string, string>>
  /** As it is sent. A string without a content type of its own is sent as JSON. */
  readonly body?: string | Uint8Array
  /** What comes after the question mark, as it is sent. */
  readonly query?: string
}

export type HttpAnswer = {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** The path as it is sent, percent-encoding and all. */
export type Call = (method: string, path: string, options?: CallOptions) => Promise<HttpAnswer>

export type CaseTools = {
  readonly call: Call
  /** An id that no other case has used. */
  queue(): string
  /** A moment passes: locks of a second's life are over after 1,100 ms. */
  pass(ms: number): Promise<void>
  /** The sweeper's run, where it can be had at will. */
  readonly sweep?: () => Promise<unknown>
  /** Housekeeping of one queue, where it can be had at will. */
  readonly housekeep?: (queue: string) => Promise<unknown>
}

// biome-ignore lint/suspicious/noExplicitAny: an answer is looked into, and not passed on.
export type Json = any

export const json = ({ text }: HttpAnswer): Json => JSON.parse(text)

/** Sent with the content type that a body of this API has. */
export function withJson(options: CallOptions): CallOptions {
  const { body, headers = {} } = options
  const isTyped = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  if (body === undefined || isTyped) return options
  return { ...options, headers: { ...headers, 'content-type': 'application/json' } }
}
