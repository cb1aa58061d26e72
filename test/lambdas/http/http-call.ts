import { Agent, request } from 'node:http'
import { type Call, withJson } from './call.ts'

/**
 * Requests over real HTTP, as they are: no client that corrects a path, refuses a body on a GET or
 * takes a header away.
 */
export function httpCall(baseUrl: string): Call {
  const { hostname, port } = new URL(baseUrl)
  const agent = new Agent({ keepAlive: true })
  return (method, path, options = {}) => {
    const { headers = {}, body, query } = withJson(options)
    const bytes = body === undefined ? undefined : Buffer.from(body)
    return new Promise((resolve, reject) => {
      const sent = request({
        agent,
        hostname,
        port,
        method,
        path: query === undefined ? path : `${path}?${query}`,
        headers: {
          ...headers,
          ...(bytes !== undefined && { 'content-length': String(bytes.length) }),
        },
      })
      sent.on('error', reject)
      sent.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const named = Object.entries(response.headers).map(([name, value]) => [
            name,
            String(value),
          ])
          resolve({
            status: response.statusCode ?? 0,
            headers: Object.fromEntries(named),
            text: Buffer.concat(chunks).toString(),
          })
        })
      })
      sent.end(bytes)
    })
  }
}
