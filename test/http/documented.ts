// Holds every answer against the API page: its status, its fields, its error code, and that it
// tells nothing of how we are made.

import * as v from 'valibot'
import { expect } from 'vitest'
import { errorTable, type HttpErrorCode } from '../../lambdas/http/error-table.ts'
import { type Route, routes } from '../../lambdas/http/routes.ts'
import { error as errorSchema } from '../../lambdas/http/schemas/answers.ts'
import { errorsOf } from '../../scripts/openapi/document.ts'
import { type Operation, type OperationId, operations } from '../../scripts/openapi/operations.ts'
import type { Call, HttpAnswer } from './call.ts'

/** What was answered, as `push 200` or `push INVALID_ITEM`. */
export type Seen = Set<string>

export function documented(call: Call, seen: Seen = new Set()): Call {
  return async (method, path, options) => {
    const answer = await call(method, path, options)
    checkAnswer(method, path, answer, seen)
    return answer
  }
}

export function checkAnswer(method: string, path: string, answer: HttpAnswer, seen: Seen): void {
  const { status, headers, text } = answer
  const told = `${method} ${path.slice(0, 200)} → ${status} ${text.slice(0, 500)}`
  const operationId = operationOf(method, path)
  const operation = operationId && operations[operationId]
  const body: unknown = JSON.parse(text)
  expect(headers['x-request-id'], told).toBeTruthy()
  expect(headers['content-type'], told).toBe('application/json; charset=utf-8')
  if (status === 200) {
    if (operation === undefined) throw new Error(`Not documented: ${told}`)
    expect(problemsOf(operation.answer, body), told).toEqual([])
    if (operation.hasEtag) expect(headers.etag, told).toMatch(/^"[^"]+"$/)
    checkRateLimit(operation, headers, told)
    seen.add(`${operationId} 200`)
    return
  }
  if (status === 202) {
    if (operation?.accepted === undefined) throw new Error(`Not documented: ${told}`)
    expect(problemsOf(operation.accepted, body), told).toEqual([])
    expect(Number(headers['retry-after']), told).toBeGreaterThan(0)
    checkRateLimit(operation, headers, told)
    seen.add(`${operationId} 202`)
    return
  }
  expect(problemsOf(errorSchema, body), told).toEqual([])
  const { error_code: code, request_id, message } = body as ErrorBody
  const row = errorTable[code]
  expect(status, told).toBe(row.status)
  expect(request_id, told).toBe(headers['x-request-id'])
  expect(message.length, told).toBeLessThan(400)
  if (row.retryAfter !== undefined) expect(Number(headers['retry-after']), told).toBeGreaterThan(0)
  const allowed = operation === undefined ? notFound : errorsOf(operation)
  expect(allowed, told).toContain(code)
  expect(internals.exec(text)?.[0], told).toBeUndefined()
  if (code === 'RATE_LIMITED' && operation !== undefined) checkRateLimit(operation, headers, told)
  seen.add(`${operationId ?? 'none'} ${code}`)
}

function checkRateLimit(operation: Operation, headers: HttpAnswer['headers'], told: string): void {
  if (!operation.hasRateLimit) return
  expect(headers['ratelimit-policy'], told).toMatch(/^"default";q=\d+;w=[1-9]\d*$/)
  expect(headers.ratelimit, told).toMatch(/^"default";r=\d+;t=[1-9]\d*$/)
}

type ErrorBody = {
  readonly error_code: HttpErrorCode
  readonly request_id: string
  readonly message: string
}

const notFound: readonly HttpErrorCode[] = ['NOT_FOUND', 'METHOD_NOT_ALLOWED']

/** Stacks, addresses of resources, names of tables and of the store's errors and expressions. */
const internals =
  /secret-|arn:|\.ts\b|\.mjs|node_modules|\bat [A-Z]\w+\.|Exception|dynamo|bucket|Expression|undefined|\[object/i

function problemsOf(schema: v.GenericSchema, body: unknown): string[] {
  const result = v.safeParse(schema, body)
  return result.success
    ? []
    : result.issues.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`)
}

export function operationOf(method: string, path: string): OperationId | undefined {
  const parts = path.split('/')
  const found = (routes as readonly Route[]).find((route) => {
    const wanted = route.path.split('/')
    return (
      route.method === method &&
      wanted.length === parts.length &&
      wanted.every((part, i) => (part.startsWith('{') ? parts[i] !== '' : part === parts[i]))
    )
  })
  return found?.operationId as OperationId | undefined
}
