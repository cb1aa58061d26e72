// Which route of an HTTP API a request takes, by API Gateway's order: a path with fixed segments
// before one with variables, a greedy variable (`{proxy+}`) last, a method before ANY, and
// `$default` for what nothing else takes. A path that is there with other methods only is
// `$default`'s too: API Gateway knows no 405.

import type { RoutePlan } from '../template/plan-api.ts'

export type RouteMatch = {
  readonly route: RoutePlan
  /** Decoded; absent where the route has no variables. */
  readonly pathParameters?: Readonly<Record<string, string>> | undefined
}

type Segment =
  | { readonly kind: 'fixed'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'greedy'; readonly name: string }

type Entry = {
  readonly route: RoutePlan
  readonly method: string
  readonly segments: readonly Segment[]
}

export class RouteTable {
  readonly #entries: readonly Entry[]
  readonly #default: RoutePlan | undefined

  constructor(routes: readonly RoutePlan[]) {
    this.#default = routes.find(({ key }) => key === '$default')
    this.#entries = routes
      .filter(({ key }) => key !== '$default')
      .map(parse)
      .sort((a, b) => comparePlaces(placeOf(a), placeOf(b)))
  }

  /** `path` as it came, without the query. */
  match(method: string, path: string): RouteMatch | undefined {
    const parts = path.split('/').slice(1)
    for (const { route, method: wanted, segments } of this.#entries) {
      if (wanted !== method && wanted !== 'ANY') continue
      const pathParameters = matchSegments(segments, parts)
      if (!pathParameters) continue
      return Object.keys(pathParameters).length > 0 ? { route, pathParameters } : { route }
    }
    return this.#default && { route: this.#default }
  }
}

function parse(route: RoutePlan): Entry {
  const [method = '', path = ''] = route.key.split(' ')
  const segments = path
    .split('/')
    .slice(1)
    .map((text): Segment => {
      const variable = /^\{(.+?)(\+?)\}$/.exec(text)
      if (!variable) return { kind: 'fixed', text }
      return { kind: variable[2] ? 'greedy' : 'variable', name: variable[1] ?? '' }
    })
  return { route, method, segments }
}

const ranks = { fixed: 0, variable: 1, greedy: 2 } as const

/** Compared number by number, the lower first. */
const placeOf = ({ segments, method }: Entry): readonly number[] => [
  ...segments.map(({ kind }) => ranks[kind]),
  // Higher than every rank: where one path ends and the other goes on, they cannot fit the same request,
  // unless the longer ends in a greedy variable.
  3,
  method === 'ANY' ? 1 : 0,
]

function comparePlaces(a: readonly number[], b: readonly number[]): number {
  for (const [index, number] of a.entries()) {
    const difference = number - (b[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function matchSegments(
  segments: readonly Segment[],
  parts: readonly string[],
): Record<string, string> | undefined {
  const last = segments.at(-1)
  if (last?.kind === 'greedy' ? parts.length < segments.length : parts.length !== segments.length) {
    return undefined
  }
  const found: Record<string, string> = {}
  for (const [index, segment] of segments.entries()) {
    const part = parts[index] ?? ''
    switch (segment.kind) {
      case 'fixed':
        if (part !== segment.text) return undefined
        break
      case 'variable':
        if (part === '') return undefined
        found[segment.name] = decode(part)
        break
      case 'greedy':
        found[segment.name] = decode(parts.slice(index).join('/'))
        break
      default:
        segment satisfies never
    }
  }
  return found
}

/** Leaves invalid encoding as it came: the function can answer it better than we can. */
export function decode(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
