// Holds every answer against the API page: its status, its fields, its error code, and that it
// tells nothing of how we are made. By `assert`: a million of `expect` take ten seconds.

import assert from 'node:assert/strict'
import * as v from 'valibot'
import { errorTable, type HttpErrorCode } from '../../../lambdas/http/answer.ts'
import { type OperationId, routes } from '../../../lambdas/http/routes.ts'
import { error as errorSchema } from '../../../lambdas/http/schemas/answers.ts'

import { errorsOf, type Operation, operations } from '../../../scripts/openapi.ts'
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
  const isBare = status === 200 && operation !== undefined && operation.answer === undefined
  const body: unknown = isBare ? undefined : JSON.parse(text)
  assert.ok(headers['x-request-id'], told)
  assert.equal(headers['content-type'], 'application/json; charset=utf-8', told)
  if (status === 200) {
    if (operation === undefined) throw new Error(`Not documented: ${told}`)
    if (operation.answer === undefined) assert.equal(text, '', told)
    else checkShape(operation.answer, body, told)
    if (operation.hasEtag) assert.match(headers.etag ?? '', /^"[^"]+"$/, told)
    checkRateLimit(operation, headers, told)
    seen.add(`${operationId} 200`)
    return
  }
  if (status === 202) {
    if (operation?.accepted === undefined) throw new Error(`Not documented: ${told}`)
    const { answer: shape, header } = operation.accepted
    checkShape(shape, body, told)
    if (header === 'Retry-After') assert.ok(Number(headers['retry-after']) > 0, told)
    else assert.equal(headers['preference-applied'], 'respond-async', told)
    checkRateLimit(operation, headers, told)
    seen.add(`${operationId} 202`)
    return
  }
  checkShape(errorSchema, body, told)
  const { error_code: code, request_id, message, retryable } = body as ErrorBody
  const row = errorTable[code]
  assert.equal(status, row.status, told)
  assert.equal(request_id, headers['x-request-id'], told)
  assert.ok(message.length < 400, told)
  if (row.retryAfter !== undefined && retryable) assert.ok(Number(headers['retry-after']) > 0, told)
  const allowed = operation === undefined ? notFound : errorsOf(operation)
  assert.ok(allowed.includes(code), told)
  assert.doesNotMatch(text, internals, told)
  if (code === 'RATE_LIMITED' && operation !== undefined) checkRateLimit(operation, headers, told)
  seen.add(`${operationId ?? 'none'} ${code}`)
}

function checkRateLimit(operation: Operation, headers: HttpAnswer['headers'], told: string): void {
  if (!operation.hasRateLimit) return
  assert.match(headers['ratelimit-policy'] ?? '', /^"default";q=\d+;w=[1-9]\d*$/, told)
  assert.match(headers.ratelimit ?? '', /^"default";r=\d+;t=[1-9]\d*$/, told)
}

type ErrorBody = {
  readonly retryable: boolean
  readonly error_code: HttpErrorCode
  readonly request_id: string
  readonly message: string
}

const notFound: readonly HttpErrorCode[] = ['NOT_FOUND', 'METHOD_NOT_ALLOWED']

/** Stacks, addresses of resources, names of tables and of the store's errors and expressions. */
const internals =
  /secret-|arn:|\.ts\b|\.mjs|node_modules|\bat [A-Z]\w+\.|Exception|dynamo|bucket|Expression|undefined|\[object/i

function checkShape(schema: v.GenericSchema, body: unknown, told: string): void {
  const result = v.safeParse(schema, body)
  if (result.success) return
  const problems = result.issues.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`)
  assert.fail(`${problems.join('; ')} in ${told}`)
}

export function operationOf(method: string, path: string): OperationId | undefined {
  const parts = path.split('/')
  const found = routes.find((route) => {
    const wanted = route.path.split('/')
    return (
      route.method === method &&
      wanted.length === parts.length &&
      wanted.every((part, i) => (part.startsWith('{') ? parts[i] !== '' : part === parts[i]))
    )
  })
  return found?.operationId
}
