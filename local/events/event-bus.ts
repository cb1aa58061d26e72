// EventBridge: an event that a function puts on a bus goes to the targets of the rules that it fits. All of this is in
// memory: an event that is not delivered yet ends with the stack.

import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import {
  isFromAPage,
  type LocalServer,
  NOT_FOR_PAGES,
  readText,
  serveProcesses,
} from '../loopback.ts'
import { messageOf } from '../start-error.ts'
import { type SqsApi, SqsApiError } from '../stores/store-api.ts'
import { isObject } from '../template/assembly.ts'
import { ACCOUNT, REGION } from '../template/identities.ts'
import type { EventRulePlan, QueueTarget, TargetPlan } from '../template/plan-sources.ts'
import { compilePattern, type Predicate, transformed, valueAt } from './event-language.ts'
import { eventTime } from './schedules.ts'

type BusEvent = Readonly<Record<string, unknown>>

type EventBusesSettings = {
  readonly buses: readonly string[]
  readonly rules: readonly EventRulePlan[]
  /** `input` is what the target gets of the event. */
  readonly deliver: (target: TargetPlan, input: string) => void
}

/** One entry of PutEvents, as it comes. */
type PutEventsEntry = Readonly<Record<string, unknown>>
type PutEventsResult =
  | { readonly EventId: string }
  | { readonly ErrorCode: string; readonly ErrorMessage: string }

export class EventBuses {
  readonly #buses: ReadonlySet<string>
  readonly #rules: readonly (EventRulePlan & { readonly fits: Predicate })[]
  readonly #deliver: EventBusesSettings['deliver']

  constructor({ buses, rules, deliver }: EventBusesSettings) {
    this.#buses = new Set(buses)
    this.#rules = rules.map((rule) => ({ ...rule, fits: compilePattern(rule.pattern) }))
    this.#deliver = deliver
  }

  put(entry: PutEventsEntry): PutEventsResult {
    // A name, or an ARN that ends in it.
    const busName = String(entry.EventBusName ?? 'default').replace(/^arn:.*event-bus\//, '')
    if (!this.#buses.has(busName)) {
      return refusal('ResourceNotFoundException', `Event bus ${busName} does not exist.`)
    }
    const { Source, DetailType, Time } = entry
    if (typeof Source !== 'string' || typeof DetailType !== 'string' || !Source || !DetailType) {
      return refusal('InvalidArgument', 'Parameters Source and DetailType must be given.')
    }
    const detail = parseDetail(entry.Detail)
    if (!detail) return refusal('MalformedDetail', 'Detail is malformed.')
    const timeMs = typeof Time === 'number' ? Time * 1000 : Date.now()
    if (Number.isNaN(new Date(timeMs).getTime())) {
      return refusal('InvalidArgument', `Parameter Time is not a time: ${Time}.`)
    }
    const id = randomUUID()
    this.#route(busName, {
      version: '0',
      id,
      'detail-type': DetailType,
      source: Source,
      account: ACCOUNT,
      time: eventTime(timeMs),
      region: REGION,
      resources: Array.isArray(entry.Resources) ? entry.Resources : [],
      detail,
    })
    return { EventId: id }
  }

  #route(busName: string, event: BusEvent): void {
    for (const rule of this.#rules) {
      if (rule.busName !== busName || !rule.fits(event)) continue
      for (const target of rule.targets) this.#deliver(target, inputOf(target, event))
    }
  }
}

/** The input that a target gets for an event. */
export function inputOf(
  { input, inputPath = '$', inputTransformer }: TargetPlan,
  event: BusEvent,
): string {
  if (input !== undefined) return input
  if (inputTransformer !== undefined) return transformed(inputTransformer, event)
  return JSON.stringify(valueAt(event, inputPath) ?? null)
}

function parseDetail(detail: unknown): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(String(detail))
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

const refusal = (ErrorCode: string, ErrorMessage: string): PutEventsResult => ({
  ErrorCode,
  ErrorMessage,
})

/** EventBridge's own. */
const ENTRIES_MAX = 10
/** Lambda's, too. */
const BODY_BYTES_MAX = 1024 * 1024

/** Where the SDK of a local function sends PutEvents. */
export const startPutEventsServer = (buses: EventBuses): Promise<LocalServer> =>
  serveProcesses((request, response) => serve(buses, request, response))

async function serve(buses: EventBuses, request: IncomingMessage, response: ServerResponse) {
  const { headers } = request
  const { status, output } = isFromAPage(headers)
    ? refusedCall('AccessDeniedException', NOT_FOR_PAGES, 403)
    : answer(buses, String(headers['x-amz-target']), await readText(request, BODY_BYTES_MAX))
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' })
  response.end(JSON.stringify(output))
}

function answer(buses: EventBuses, target: string, text: string | undefined) {
  if (target !== 'AWSEvents.PutEvents') {
    return refusedCall(
      'UnknownOperationException',
      `The local stack knows PutEvents only: ${target}`,
    )
  }
  if (text === undefined)
    return refusedCall('ValidationException', 'A request may have up to 1 MiB')
  const entries = entriesOf(text)
  if (!entries || entries.length === 0 || entries.length > ENTRIES_MAX) {
    return refusedCall('ValidationException', `Entries must be a list of 1 to ${ENTRIES_MAX}`)
  }
  const results = entries.map((entry) => buses.put(entry))
  const failed = results.filter((result) => 'ErrorCode' in result).length
  return { status: 200, output: { FailedEntryCount: failed, Entries: results } }
}

function entriesOf(text: string): readonly Record<string, unknown>[] | undefined {
  try {
    const input: unknown = JSON.parse(text)
    const entries = isObject(input) ? input.Entries : undefined
    return Array.isArray(entries) && entries.every(isObject) ? entries : undefined
  } catch {
    return undefined
  }
}

const refusedCall = (type: string, message: string, status = 400) => ({
  status,
  output: { __type: type, message },
})

type QueueDeliverySettings = {
  readonly sqs: SqsApi
  readonly onNotice: (sentence: string) => void
  readonly pauseMs?: number | undefined
}

/** Some 10 MB of ordinary events. */
const WAITING_MAX = 10_000
const ATTEMPTS_MAX = 5
const PAUSE_MS = 500

/** Events that go to a queue. Nobody waits for them; they are in memory until the queue has them. */
export class QueueDelivery {
  readonly #settings: QueueDeliverySettings
  readonly #stop = new AbortController()
  #waiting = 0

  constructor(settings: QueueDeliverySettings) {
    this.#settings = settings
  }

  deliver(target: QueueTarget, input: string): void {
    if (this.#stop.signal.aborted) return
    if (this.#waiting >= WAITING_MAX) {
      this.#drop(target, `${WAITING_MAX} events wait already`)
      return
    }
    this.#waiting += 1
    this.#send(target, input)
      .catch((error) => this.#drop(target, messageOf(error)))
      .finally(() => {
        this.#waiting -= 1
      })
  }

  stop(): void {
    this.#stop.abort()
  }

  async #send({ queueUrl, messageGroupId }: QueueTarget, input: string): Promise<void> {
    const { sqs, pauseMs = PAUSE_MS } = this.#settings
    const group = messageGroupId !== undefined && { MessageGroupId: messageGroupId }
    for (let attempt = 1; ; attempt++) {
      try {
        await sqs('SendMessage', { QueueUrl: queueUrl, MessageBody: input, ...group })
        return
      } catch (error) {
        // If SQS refuses a message, it would refuse it again.
        if (error instanceof SqsApiError || attempt === ATTEMPTS_MAX) throw error
      }
      await delay(pauseMs, undefined, { signal: this.#stop.signal })
    }
  }

  #drop({ queueUrl }: QueueTarget, reason: string): void {
    if (this.#stop.signal.aborted) return
    this.#settings.onNotice(`An event for the queue ${queueUrl} was dropped because ${reason}.`)
  }
}
