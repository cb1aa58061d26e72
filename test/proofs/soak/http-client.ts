import { Agent, request } from 'node:http'

export type Answer = {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: an answer is looked into, and not passed on.
  readonly body: any
}

/** A client with a connection of its own. An answer that never comes is `undefined`. */
export class HttpClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #url: URL

  constructor(url: string) {
    this.#url = new URL(url)
  }

  call(method: string, path: string, body?: unknown): Promise<Answer | undefined> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    return new Promise((resolve) => {
      const outgoing = request(
        {
          agent: this.#agent,
          host: this.#url.hostname,
          port: this.#url.port,
          method,
          path,
          headers: text === undefined ? {} : { 'content-type': 'application/json' },
        },
        (response) => {
          let answer = ''
          response.setEncoding('utf8')
          response.on('data', (chunk: string) => {
            answer += chunk
          })
          response.on('error', () => resolve(undefined))
          response.on('end', () => {
            resolve({ status: response.statusCode ?? 0, body: JSON.parse(answer) })
          })
        },
      )
      outgoing.on('error', () => resolve(undefined))
      outgoing.end(text)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
