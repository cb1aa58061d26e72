// EventBridge: an event on a bus goes to the targets of the rules that it fits. All of this is in memory: an
// event that is not delivered yet ends with the stack.

import { randomUUID } from 'node:crypto'
import { isObject } from '../template/assembly.ts'
import { ACCOUNT, REGION } from '../template/identities.ts'
import { transformed, valueAt } from '../template/input-transformer.ts'
import type { EventRulePlan, TargetPlan } from '../template/plan-events.ts'
import { compilePattern, type Predicate } from './pattern.ts'
import { eventTime } from './schedules.ts'

export type BusEvent = Readonly<Record<string, unknown>>

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
