import { request } from 'node:http'

export type RawRequest = {
  readonly method: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** With any `Host`: `fetch` sets that by itself, and what a rebound name leads to is another. */
export async function sendRaw(endpoint: string, sent: RawRequest) {
  const { method, path = '/', headers = {}, body } = sent
  const sending = request(`${endpoint}${path}`, { method, headers }).end(body)
  const [status, text] = await new Promise<[number, string]>((resolve, reject) => {
    sending.on('error', reject)
    sending.on('response', async (response) => {
      const chunks: Buffer[] = await response.toArray()
      resolve([response.statusCode ?? 0, Buffer.concat(chunks).toString()])
    })
  })
  return { status, text }
}
