// docs/openapi.json, made from the routes, the schemas that check the requests, and what those cannot say.
// `npm run openapi` writes it; with `--check` it only says whether the file is as the schemas would have it.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ConversionConfig, toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import type { Queues } from '../engine/queues.ts'
import { errorTable, type HttpErrorCode } from '../lambdas/http/answer.ts'
import type { BodyCall, Call, Endpoint } from '../lambdas/http/endpoint.ts'
import { healthEndpoints, healthPages } from '../lambdas/http/health.ts'
import { inspectEndpoints, inspectPages } from '../lambdas/http/inspect.ts'
import { manageEndpoints, managePages } from '../lambdas/http/manage.ts'
import { type Accepted, commonErrors, type Page, type Pages } from '../lambdas/http/page.ts'
import { popEndpoints, popPages } from '../lambdas/http/pop.ts'
import { itemToPush, pushEndpoints, pushPages } from '../lambdas/http/push.ts'
import { rateEndpoints, ratePages } from '../lambdas/http/rate.ts'
import { type OperationId, type Route, routes } from '../lambdas/http/routes.ts'
import { scheduleEndpoints, schedulePages } from '../lambdas/http/schedules.ts'
import * as answers from '../lambdas/http/schemas/answers.ts'
import { described } from '../lambdas/http/schemas/fields.ts'
import * as moreAnswers from '../lambdas/http/schemas/more-answers.ts'
import { limitAnswer, limitInput, sourceAnswer } from '../lambdas/http/schemas/settings.ts'
import { settleEndpoints, settlePages } from '../lambdas/http/settle.ts'
import type { RateLimits } from '../rate/rate-limits.ts'
import { writeOrCheck } from './written-file.ts'

type Json = Readonly<Record<string, unknown>>

/** A page and the call that it is about. */
export type Operation = Page & { readonly call: Call }

/** Nobody calls these here. */
const [queues, limits] = [{} as Queues, {} as RateLimits]
const endpoints: Readonly<Record<OperationId, Endpoint>> = {
  ...pushEndpoints(queues),
  ...popEndpoints(queues),
  ...settleEndpoints(queues),
  ...inspectEndpoints(queues),
  ...manageEndpoints(queues),
  ...scheduleEndpoints(queues),
  ...rateEndpoints(limits),
  ...healthEndpoints(),
}
const pages: Pages<OperationId> = {
  ...pushPages(),
  ...popPages(),
  ...settlePages(),
  ...inspectPages(),
  ...managePages(),
  ...schedulePages(),
  ...ratePages(),
  ...healthPages(),
}

export const operations = Object.fromEntries(
  routes.map(({ operationId: id }) => [id, { ...pages[id], call: endpoints[id].call }]),
) as Readonly<Record<OperationId, Operation>>

export function openApiDocument(): Json {
  const paths: Record<string, Record<string, Json>> = {}
  for (const route of routes) {
    paths[route.path] ??= {}
    const methods = paths[route.path] as Record<string, Json>
    methods[route.method.toLowerCase()] = operationOf(route)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'PushPop', version: version(), description: about, license: { name: 'MIT' } },
    servers: [{ url: 'http://localhost:8000', description: 'npm start' }],
    security: [{ sigv4: [] }, { token: [] }],
    paths,
    components: {
      schemas: sharedSchemas,
      responses,
      parameters: {
        QueueId: queueId,
        RateKey: rateKey,
        Ticket: ticket,
        ScheduleName: scheduleName,
      },
      headers: {
        RequestId: {
          description: 'Names this request in the logs.',
          schema: { type: 'string' },
        },
        RetryAfter: { description: 'Seconds.', schema: { type: 'integer' } },
        RateLimit: {
          description: 'What is left, and seconds: `"default";r=50;t=1`.',
          schema: { type: 'string' },
        },
        RateLimitPolicy: {
          description: 'The limit, and its window in seconds: `"default";q=100;w=1`.',
          schema: { type: 'string' },
        },
        ETag: {
          description:
            'Another one whenever what is answered changes. In `If-Match`, that of a configuration has a ' +
            'change made only if nobody else has changed it since; the answer to the change has the next one.',
          schema: { type: 'string' },
        },
        PreferenceApplied: { description: '`respond-async`.', schema: { type: 'string' } },
        IdempotencyReplayed: {
          description:
            '`true`: an earlier request with this key did it, and this one changed nothing.',
          schema: { type: 'string' },
        },
      },
      securitySchemes: {
        sigv4: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: 'AWS Signature Version 4, service `execute-api`; unless deployed otherwise.',
        },
        token: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'With `auth=jwt`; the scope an operation needs is in `x-pushpop-scope`.',
        },
      },
    },
  }
}

const about =
  'A serverless priority queue. JSON is snake_case; times are epoch seconds with a fraction. ' +
  'Every answer has an `X-Request-Id`, and every error one shape. 401 and 403, and 429 with another ' +
  'body, come from the gateway.'

function version(): string {
  const file = join(import.meta.dirname, '../package.json')
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

const queueId = {
  name: 'id',
  in: 'path',
  required: true,
  description:
    '1–100 characters, case-sensitive, not `.` or `..`; with `-deadletter` behind it for a ' +
    'dead-letter queue.',
  schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,100}(-deadletter)?$' },
}

const rateKey = {
  name: 'key',
  in: 'path',
  required: true,
  description:
    'What is limited: a user, an address, a service. 1–100 characters, spelled like a queue id.',
  schema: queueId.schema,
}

const ticket = {
  name: 'ticket',
  in: 'path',
  required: true,
  description: 'As the answer 202 gave it.',
  schema: { type: 'string' },
}

const scheduleName = {
  name: 'name',
  in: 'path',
  required: true,
  description:
    'Which schedule of the queue: 1–100 characters A-Z a-z 0-9 . _ - and not `.` or `..`.',
  schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,100}$' },
}

function operationOf({ path, duty, operationId }: Route): Json {
  const operation = operations[operationId]
  const { tag, summary, description, call } = operation
  const parameters = [
    ...(path.includes('{id}') ? [{ $ref: '#/components/parameters/QueueId' }] : []),
    ...(path.includes('{key}') ? [{ $ref: '#/components/parameters/RateKey' }] : []),
    ...(path.includes('{name}') ? [{ $ref: '#/components/parameters/ScheduleName' }] : []),
    ...(path.includes('{ticket}') ? [{ $ref: '#/components/parameters/Ticket' }] : []),
    ...queryParameters(call),
    ...(call.headers ?? []).map((name) => ({ in: 'header', ...headers[name] })),
  ]
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    ...(duty === undefined ? { security: [] } : { 'x-pushpop-scope': `pushpop/${duty}` }),
    ...(parameters.length > 0 && { parameters }),
    ...(call.body !== undefined && { requestBody: requestBody(call.body) }),
    responses: {
      200: success(operation, operation.answer),
      ...(operation.accepted && { 202: accepted(operation, operation.accepted) }),
      ...failures(operation),
    },
  }
}

const headers = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    description:
      'Repeats of this request have one effect. A pop needs `require_ack` with it. Remembered for ' +
      '24 hours unless deployed otherwise.',
    schema: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[\\x20-\\x7e]+$' },
  },
  'If-Match': {
    name: 'If-Match',
    description:
      'The `ETag` of the configuration that is to be changed, as a `GET` or the last change gave it; else ' +
      'the answer is 412, and nothing changes. Several, of which one must match, or `*` for any.',
    schema: { type: 'string' },
  },
  Prefer: {
    name: 'Prefer',
    description:
      '`respond-async`: answer once the push is in the inbox. Any other preference is ignored.',
    schema: { type: 'string' },
  },
}

function queryParameters({ parameters }: Call): Json[] {
  return Object.entries(parameters?.entries ?? {}).map(([name, entry]) => {
    const { description, ...schema } = schemaOf(entry as v.GenericSchema)
    return { name, in: 'query', description, schema }
  })
}

function requestBody({ kind, schema, or }: BodyCall): Json {
  const main = schemaOf(schema)
  return {
    required: kind === 'required',
    content: {
      'application/json': {
        schema: or === undefined ? main : { oneOf: [main, schemaOf(or.schema)] },
      },
    },
  }
}

const requestIdHeader = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } }

function accepted(operation: Page, { says, answer, header }: Accepted): Json {
  // Only a push that succeeded can say that it had succeeded before.
  const { hasReplays: _, ...onlyAccepted } = operation
  const made = success(onlyAccepted, answer)
  const headers = made.headers as Json
  const $ref = `#/components/headers/${header.replace('-', '')}`
  return { ...made, description: says, headers: { ...headers, [header]: { $ref } } }
}

function success(operation: Page, answer: v.GenericSchema | undefined): Json {
  const { summary, hasEtag, hasReplays, hasRateLimit } = operation
  return {
    description: summary,
    headers: {
      ...requestIdHeader,
      ...(hasEtag && { ETag: { $ref: '#/components/headers/ETag' } }),
      ...(hasReplays && {
        'Idempotency-Replayed': { $ref: '#/components/headers/IdempotencyReplayed' },
      }),
      ...(hasRateLimit && {
        RateLimit: { $ref: '#/components/headers/RateLimit' },
        'RateLimit-Policy': { $ref: '#/components/headers/RateLimitPolicy' },
      }),
    },
    ...(answer && { content: { 'application/json': { schema: schemaOf(answer) } } }),
  }
}

/** Errors by status, as OpenAPI has them. */
function failures(operation: Page): Json {
  const byStatus = new Map<number, HttpErrorCode[]>()
  for (const code of errorsOf(operation)) {
    const { status } = errorTable[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const sorted = [...byStatus].sort(([a], [b]) => a - b)
  return Object.fromEntries(sorted.map(([status, codes]) => [status, failure(codes)]))
}

export const errorsOf = ({ errors }: Page): HttpErrorCode[] => [
  ...new Set<HttpErrorCode>([...errors, ...commonErrors]),
]

function failure(codes: readonly HttpErrorCode[]): Json {
  const retries = codes.some(
    (code) => errorTable[code].retryAfter !== undefined || code === 'QUEUE_LOCKED',
  )
  return {
    $ref: `#/components/responses/${retries ? 'ErrorWithRetry' : 'Error'}`,
    description: codes.map((code) => `\`${code}\``).join(', '),
  }
}

const errorResponse = {
  description: 'An error.',
  headers: requestIdHeader,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}
const responses = {
  Error: errorResponse,
  ErrorWithRetry: {
    ...errorResponse,
    description: 'An error that may pass.',
    headers: { ...requestIdHeader, 'Retry-After': { $ref: '#/components/headers/RetryAfter' } },
  },
}

/** What several requests or answers share is in the document once, under its name. */
const named: Readonly<Record<string, v.GenericSchema>> = {
  Error: described(answers.error, 'Every error of the service.'),
  ItemToPush: itemToPush,
  Pushed: answers.pushed,
  ItemDetails: answers.itemDetails,
  PoppedItems: answers.poppedItems,
  Configuration: answers.configuration,
  ConfigurationSource: sourceAnswer(),
  Limit: limitAnswer(),
  LimitInput: limitInput(),
  QueuePatterns: answers.queuePatterns,
  Schedule: moreAnswers.scheduleChanged,
  ScheduleWithItem: moreAnswers.schedule,
  RateConfiguration: moreAnswers.rateConfiguration,
  RatePatterns: moreAnswers.ratePatterns,
  RateWindow: moreAnswers.rateWindow,
}

const conversion: ConversionConfig = { target: 'draft-2020-12', errorMode: 'throw' }

function converted(schema: v.GenericSchema): Json {
  const { $schema: _, ...rest } = toJsonSchema(schema, conversion) as Record<string, unknown>
  return rest
}

/** A schema without its description: each place may describe the same values in its own words. */
const essence = ({ description: _, ...rest }: Json): string => JSON.stringify(rest)

const names = new Map(
  Object.entries(named).map(([name, schema]) => [essence(converted(schema)), name]),
)

/** The schema as the document has it: with the names of shared schemas, here and anywhere inside. */
const schemaOf = (schema: v.GenericSchema): Json => withNames(converted(schema)) as Json

const sharedSchemas: Json = Object.fromEntries(
  Object.entries(named).map(([name, schema]) => [name, withNamesInside(converted(schema))]),
)

function withNames(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withNames)
  const schema = value as Json
  const name = names.get(essence(schema))
  if (name === undefined) return withNamesInside(schema)
  const { description } = schema
  return { $ref: `#/components/schemas/${name}`, ...(description !== undefined && { description }) }
}

function withNamesInside(schema: Json): Json {
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, withNames(value)]))
}

if (import.meta.main) {
  const text = JSON.stringify(openApiDocument(), null, 2)
  writeOrCheck('docs/openapi.json', text, { script: 'openapi', from: 'the schemas' })
}
