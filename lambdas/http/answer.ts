/** An answer in the form that the gateway takes. */
export type Answer = {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

type Headers = Readonly<Record<string, string>>

/**
 * No proxy or browser may cache an answer: two equal requests rarely have equal answers. And no browser may mistake
 * an item's text for a page.
 */
const everyAnswer: Headers = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

export const answer = (statusCode: number, body: object | string, headers?: Headers): Answer => ({
  statusCode,
  headers: { ...everyAnswer, ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

export const ok = (body: object | string, headers?: Headers): Answer => answer(200, body, headers)

/** Milliseconds as epoch seconds, always with a fraction: `1709139275.0`. */
export function secondsText(ms: number): string {
  const text = String(ms / 1000)
  return text.includes('.') ? text : `${text}.0`
}

type RawJson = { rawJSON(text: string): unknown }

/** The same for `JSON.stringify`, which would drop a fraction of zero. */
export const seconds = (ms: number): unknown =>
  (JSON as unknown as RawJson).rawJSON(secondsText(ms))
