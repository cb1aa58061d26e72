// The verbs of a queue whose calls follow from the table of verbs: what they take, in which order, how it goes over the
// wire, and what of the answer they return. What is needed comes first, then the options. That the table and `Queue`
// say the same is a matter of types, so no verb can be forgotten in one of them.

import type { Requests, Same } from '../shared/options.ts'
import { type Asked, asks, has, routes } from '../shared/verbs.ts'
import { camelCased, snakeCase } from '../shared/wire.ts'
import type {
  AcknowledgeAnswer,
  BrowseAnswer,
  CancelAnswer,
  ConfigurationAnswer,
  InspectAnswer,
  MoveAnswer,
  ScheduledAnswer,
} from './api-types.ts'
import { secondsOf } from './json.ts'
import type { MatchOptions, Queue } from './queue.ts'
import { type Answered, type Call, matchOf, type Send } from './transport.ts'
import {
  configurationOf,
  type Name,
  pageOf,
  resultsOf,
  scheduledOf,
  stateOf,
  viewOf,
} from './views.ts'

type Asks = typeof asks

/** A verb whose calls follow. */
export type Tabled = {
  [V in keyof Asks]: (typeof routes)[V][1] extends `/queue/{id}${infer Rest}`
    ? Rest extends '/pop' | `/schedules${string}`
      ? never
      : V
    : never
}[keyof Asks]

type Named<V> = V extends 'browse' ? 'peek' : V

const tabled = (Object.keys(asks) as (keyof Asks)[]).filter((verb): verb is Tabled =>
  /^.queue.{id}(?!.pop|.schedules)/.test(routes[verb][1]),
)
const nameOf = (verb: Tabled) => (verb === 'browse' ? 'peek' : verb)

/** As the client calls them. */
export const clientNames = Object.fromEntries(tabled.map((verb) => [verb, nameOf(verb)])) as {
  readonly [V in Tabled]: Named<V>
}

type Leading = 'needed' | 'needed list' | 'itself'
export const isLeading = (kind: Asked): kind is Leading =>
  kind === 'itself' || kind.startsWith('needed')

type TabledCalls<T> = Pick<Queue<T>, Named<Tabled>>

/** Of verbs that return more of an answer than its fields, or something else. */
const views = {
  acknowledgeMany: ({
    body,
  }: Answered<Extract<AcknowledgeAnswer, { readonly results: unknown }>>) => resultsOf(body),
  inspect: ({ body, etag }: Answered<InspectAnswer>) => stateOf(body, etag),
  browse: ({ body, text }: Answered<BrowseAnswer>) => pageOf<unknown>(body, text),
  scheduled: ({ body, text }: Answered<ScheduledAnswer>) => scheduledOf<unknown>(body, text),
  configuration: ({ body, etag }: Answered<ConfigurationAnswer>) => configurationOf(body, etag),
  unconfigure: ({ body, etag }: Answered<ConfigurationAnswer>) => configurationOf(body, etag),
  cancel: ({ body }: Answered<CancelAnswer>) => body.results,
  move: ({ body }: Answered<MoveAnswer>) => camelCased(body.results),
} satisfies { readonly [V in Tabled]?: (answer: never) => Returned<V> }

type Returned<V extends Tabled> = Awaited<ReturnType<TabledCalls<unknown>[Named<V>]>>

type OptionOf<V extends keyof Asks> = {
  [N in keyof Asks[V]]: Asks[V][N] extends Leading ? never : N
}[keyof Asks[V]]

type Options<Given> = Required<Given> extends readonly [...unknown[], infer Last] ? Last : never

type TakesTheSame<V extends Tabled> = Same<
  OptionOf<V> | 'signal',
  keyof NonNullable<Options<Parameters<TabledCalls<unknown>[Named<V>]>>>
>

type ReturnsTheSame<V extends Tabled> = V extends keyof typeof views
  ? true
  : Same<Name<(typeof has)[V][number]>, keyof Returned<V>>

/** A verb of which the table and `Queue` say different things. */
type Odd = {
  [V in Tabled]: TakesTheSame<V> | ReturnsTheSame<V> extends true ? never : V
}[Tabled]
/** There is none, or this is a type error that names it. */
const odd: Record<Odd, never> = {}

/** The names of its options. */
export function optionsOf<V extends keyof Asks>(verb: V) {
  const fields = Object.entries<Asked>(asks[verb]).filter(([, kind]) => !isLeading(kind))
  const names = Object.fromEntries(fields.map(([name]) => [name, 0]))
  return { ...names, signal: 0, ...odd } as Readonly<Record<OptionOf<V> | 'signal', 0>>
}

export const tabledRules: Requests<TabledCalls<unknown>> = Object.fromEntries(
  tabled.map((verb) => {
    const at = Object.values<Asked>(asks[verb]).filter(isLeading).length
    // A move that names no place would move nothing.
    return [
      nameOf(verb),
      [{ at, names: optionsOf(verb), ...(verb === 'move' && { isNeeded: true }) }],
    ]
  }),
)

export const tabledCalls = <T>(send: Send, at: Call['at'] & {}): TabledCalls<T> =>
  Object.fromEntries(
    tabled.map((verb) => [nameOf(verb), callOf(send, at, verb)]),
  ) as unknown as TabledCalls<T>

function callOf(send: Send, at: Call['at'] & {}, verb: Tabled) {
  const fields = Object.entries<Asked>(asks[verb]).filter(([name]) => name !== 'ifMatch')
  const { length } = fields.filter(([, kind]) => isLeading(kind))
  const view: (answer: never) => unknown = verb in views ? views[verb as keyof typeof views] : plain
  return async (...given: unknown[]) => {
    const options = (given[length] ?? {}) as MatchOptions & Readonly<Record<string, unknown>>
    const request = Object.fromEntries(
      fields.map(([name, kind], index) => {
        const value = isLeading(kind) ? given[index] : options[name]
        return [snakeCase(name), onWire(name, kind, value)]
      }),
    )
    const sent = routes[verb][0] === 'POST' ? { body: JSON.stringify(request) } : { query: request }
    return view((await send({ verb, at, ...sent, ...matchOf(options) })) as never)
  }

  function plain({ body }: Answered<Readonly<Record<string, unknown>>>): unknown {
    return viewOf(Object.fromEntries(has[verb].map((name) => [name, body[name]])))
  }
}

function onWire(name: string, kind: Asked, value: unknown) {
  if (kind !== 'time' && kind !== 'second') return value as string
  const seconds = secondsOf(name, value as Date | number | undefined)
  return kind === 'time' || seconds === undefined ? seconds : Math.round(seconds)
}
