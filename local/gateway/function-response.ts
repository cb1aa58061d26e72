// Turns a function's answer into HTTP, by API Gateway's rules for version 2.0 of the payload.

import { isObject } from '../template/assembly.ts'

export type HttpResponse = {
  readonly status: number
  /** Names in lower case; a name may come several times. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string | Buffer
}

const json = [['content-type', 'application/json']] as const

/** API Gateway's own answers. */
export const gatewayResponse = (status: number, message: string): HttpResponse => ({
  status,
  headers: json,
  body: JSON.stringify({ message }),
})

/** An error of the local stack itself, in PushPop's shape: API Gateway has nothing like it. */
export const refused = (message: string, requestId: string): HttpResponse => ({
  status: 403,
  headers: [...json, ['apigw-requestid', requestId]],
  body: JSON.stringify({
    success: false,
    error_code: FORBIDDEN,
    message,
    retryable: false,
    request_id: requestId,
  }),
})

export const FORBIDDEN = 'FORBIDDEN'

export const internalServerError = gatewayResponse(500, 'Internal Server Error')

/** `payload` is the JSON that the function returned. */
export function functionResponse(payload: string): HttpResponse {
  const answer: unknown = JSON.parse(payload)
  if (!isObject(answer) || answer.statusCode === undefined) {
    // It returned a value and nothing about HTTP.
    return { status: 200, headers: json, body: typeof answer === 'string' ? answer : payload }
  }
  const { statusCode, headers = {}, cookies = [], body = '', isBase64Encoded } = answer
  const status = Number(statusCode)
  const isWellFormed =
    Number.isInteger(status) &&
    status >= 200 &&
    status <= 599 &&
    isObject(headers ?? {}) &&
    Array.isArray(cookies ?? []) &&
    (typeof body === 'string' || body === null)
  if (!isWellFormed) return internalServerError
  const text = typeof body === 'string' ? body : ''
  return {
    status,
    headers: [
      ...readHeaders(headers),
      ...((cookies ?? []) as unknown[]).map((cookie) => ['set-cookie', String(cookie)] as const),
    ],
    body: isBase64Encoded === true ? Buffer.from(text, 'base64') : text,
  }
}

/** The gateway manages the connection, so it drops these. */
const notTheFunctions = new Set(['connection', 'content-length', 'keep-alive', 'transfer-encoding'])

function readHeaders(headers: unknown): (readonly [string, string])[] {
  const read = Object.entries(headers ?? {})
    .map(([name, value]) => [name.toLowerCase(), String(value)] as const)
    .filter(([name]) => !notTheFunctions.has(name))
  if (read.some(([name]) => name === 'content-type')) return read
  return [['content-type', 'text/plain;charset=UTF-8'], ...read]
}
